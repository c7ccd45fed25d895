#include "contracts/child/wire.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace nbx::contracts {

// Found by nlohmann's lookup, next to the types they serve.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Param, name, kind, integer, real, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launch, block_order, item_order, order_seed, threads, options)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MemoryFault, kind, tensor, offset, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BufferUse, name, bytes, made, freed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cost, buffers, peak_bytes, returned_bytes, operations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AxisInfo, option, clause, values)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EqualityInfo, clause, other, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ControlInfo, mutates, planted, red_at, problems, verdict, crashes)

namespace {

using Json = nlohmann::json;

/// Structs of the C interface travel as their bytes: both sides are the same program.
template <class T>
Json raw(const T& value) {
  std::vector<std::uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return Json::binary(std::move(bytes));
}

template <class T>
T from_raw(const Json& json) {
  const auto& bytes = json.get_binary();
  T value{};
  if (bytes.size() != sizeof value) throw std::length_error("a message of another program");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Json json_of(const CallTensor& tensor, std::uint64_t place) {
  return {{"name", tensor.name},
          {"role", tensor.role},
          {"dtype", raw(tensor.dtype)},
          {"shape", tensor.shape},
          {"strides", tensor.strides},
          {"offset", tensor.offset},
          {"shard_axis", tensor.shard_axis},
          {"place", place}};
}

CallTensor tensor_from(const Json& json) {
  CallTensor tensor;
  json.at("name").get_to(tensor.name);
  json.at("role").get_to(tensor.role);
  tensor.dtype = from_raw<DLDataType>(json.at("dtype"));
  json.at("shape").get_to(tensor.shape);
  json.at("strides").get_to(tensor.strides);
  json.at("offset").get_to(tensor.offset);
  json.at("shard_axis").get_to(tensor.shard_axis);
  return tensor;
}

Json json_of(const KernelInfo& kernel) {
  Json json{{"name", kernel.name},
            {"family", kernel.family},
            {"format", raw(kernel.format)},
            {"optional_outputs", kernel.optional_outputs},
            {"alignment", kernel.alignment},
            {"axes", kernel.axes},
            {"equalities", kernel.equalities},
            {"declares_cost", kernel.declares_cost},
            {"symbol", kernel.symbol},
            {"unit", kernel.unit}};
  if (kernel.control) json["control"] = *kernel.control;
  if (kernel.limits) json["limits"] = raw(*kernel.limits);
  return json;
}

KernelInfo kernel_from(const Json& json) {
  KernelInfo kernel;
  json.at("name").get_to(kernel.name);
  json.at("family").get_to(kernel.family);
  kernel.format = from_raw<DLDataType>(json.at("format"));
  json.at("optional_outputs").get_to(kernel.optional_outputs);
  json.at("alignment").get_to(kernel.alignment);
  json.at("axes").get_to(kernel.axes);
  json.at("equalities").get_to(kernel.equalities);
  json.at("declares_cost").get_to(kernel.declares_cost);
  json.at("symbol").get_to(kernel.symbol);
  json.at("unit").get_to(kernel.unit);
  if (json.contains("control")) kernel.control = json["control"].get<ControlInfo>();
  if (json.contains("limits")) kernel.limits = from_raw<nbx_limits>(json["limits"]);
  return kernel;
}

Json json_of(const PackInfo& pack) {
  Json kernels = Json::array();
  for (const KernelInfo& kernel : pack.kernels) kernels.push_back(json_of(kernel));
  return {{"name", pack.name},           {"device_name", pack.device_name},
          {"imitates", pack.imitates},   {"toolchain", pack.toolchain},
          {"flags", pack.flags},         {"compile_commands", pack.compile_commands},
          {"driver", pack.driver},       {"device", raw(pack.device)},
          {"can_guard", pack.can_guard}, {"kernels", std::move(kernels)}};
}

PackInfo pack_from(const Json& json) {
  PackInfo pack;
  json.at("name").get_to(pack.name);
  json.at("device_name").get_to(pack.device_name);
  json.at("imitates").get_to(pack.imitates);
  json.at("toolchain").get_to(pack.toolchain);
  json.at("flags").get_to(pack.flags);
  json.at("compile_commands").get_to(pack.compile_commands);
  json.at("driver").get_to(pack.driver);
  pack.device = from_raw<DLDevice>(json.at("device"));
  json.at("can_guard").get_to(pack.can_guard);
  for (const Json& kernel : json.at("kernels")) pack.kernels.push_back(kernel_from(kernel));
  return pack;
}

Json json_of(const Outcome& outcome) {
  return {{"kind", outcome.kind},
          {"status", outcome.status},
          {"stage", outcome.stage},
          {"message", outcome.message},
          {"faults", outcome.faults},
          {"wrote_nothing", outcome.wrote_nothing},
          {"workspace_bytes", outcome.workspace_bytes},
          {"buffers", outcome.buffers},
          {"seconds", outcome.seconds}};
}

Outcome outcome_from(const Json& json) {
  Outcome outcome;
  json.at("kind").get_to(outcome.kind);
  json.at("status").get_to(outcome.status);
  json.at("stage").get_to(outcome.stage);
  json.at("message").get_to(outcome.message);
  json.at("faults").get_to(outcome.faults);
  json.at("wrote_nothing").get_to(outcome.wrote_nothing);
  json.at("workspace_bytes").get_to(outcome.workspace_bytes);
  json.at("buffers").get_to(outcome.buffers);
  json.at("seconds").get_to(outcome.seconds);
  return outcome;
}

bool write_all(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool read_all(int socket, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

namespace wire {

std::vector<std::uint8_t> pack_request(const Request& request) {
  Json json{{"operation", request.operation}, {"file_bytes", request.file_bytes}};
  if (request.operation != Operation::open) {
    const Call& call = request.call;
    Json tensors = Json::array();
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      tensors.push_back(json_of(call.tensors[i], request.places[i]));
    }
    json["call"] = {{"kernel", call.kernel},  {"family", call.family}, {"tensors", std::move(tensors)},
                    {"params", call.params},  {"rank", call.rank},     {"ranks", call.ranks},
                    {"launch", call.launch},  {"poison", call.poison}, {"tracked", call.tracked},
                    {"refused", call.refused}};
  }
  return Json::to_cbor(json);
}

Request unpack_request(const std::vector<std::uint8_t>& bytes) {
  const Json json = Json::from_cbor(bytes);
  Request request;
  json.at("operation").get_to(request.operation);
  json.at("file_bytes").get_to(request.file_bytes);
  if (request.operation == Operation::open) return request;
  const Json& call = json.at("call");
  call.at("kernel").get_to(request.call.kernel);
  call.at("family").get_to(request.call.family);
  call.at("params").get_to(request.call.params);
  call.at("rank").get_to(request.call.rank);
  call.at("ranks").get_to(request.call.ranks);
  call.at("launch").get_to(request.call.launch);
  call.at("poison").get_to(request.call.poison);
  call.at("tracked").get_to(request.call.tracked);
  call.at("refused").get_to(request.call.refused);
  for (const Json& tensor : call.at("tensors")) {
    request.call.tensors.push_back(tensor_from(tensor));
    request.places.push_back(tensor.at("place").get<std::uint64_t>());
  }
  return request;
}

std::vector<std::uint8_t> pack_answer(const Answer& answer) {
  Json json{{"error", answer.error},
            {"outputs", answer.outputs},
            {"last", answer.last},
            {"outcome", json_of(answer.outcome)}};
  if (answer.pack) json["pack"] = json_of(*answer.pack);
  if (answer.arithmetic) json["arithmetic"] = raw(*answer.arithmetic);
  if (answer.cost) json["cost"] = *answer.cost;
  return Json::to_cbor(json);
}

Answer unpack_answer(const std::vector<std::uint8_t>& bytes) {
  const Json json = Json::from_cbor(bytes);
  Answer answer;
  json.at("error").get_to(answer.error);
  json.at("outputs").get_to(answer.outputs);
  json.at("last").get_to(answer.last);
  answer.outcome = outcome_from(json.at("outcome"));
  if (json.contains("pack")) answer.pack = pack_from(json["pack"]);
  if (json.contains("cost")) answer.cost = json["cost"].get<Cost>();
  if (json.contains("arithmetic")) answer.arithmetic = from_raw<nbx_arithmetic>(json["arithmetic"]);
  return answer;
}

/// A header never comes near this; a length beyond it is not ours (a pack may have found the socket).
constexpr std::uint32_t most_bytes = 64u << 20;

bool send(int socket, const std::vector<std::uint8_t>& message) {
  // One write for small messages: the reader is woken once.
  std::vector<std::uint8_t> framed(sizeof(std::uint32_t) + message.size());
  const auto length = static_cast<std::uint32_t>(message.size());
  std::memcpy(framed.data(), &length, sizeof length);
  std::memcpy(framed.data() + sizeof length, message.data(), message.size());
  return write_all(socket, framed.data(), framed.size());
}

std::optional<std::vector<std::uint8_t>> receive(int socket) {
  std::uint32_t length = 0;
  if (!read_all(socket, &length, sizeof length) || length > most_bytes) return std::nullopt;
  std::vector<std::uint8_t> message(length);
  if (!read_all(socket, message.data(), message.size())) return std::nullopt;
  return message;
}

}  // namespace wire
}  // namespace nbx::contracts
