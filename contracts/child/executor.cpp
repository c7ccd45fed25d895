#include "contracts/child/executor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "contracts/child/child_process.hpp"
#include "contracts/child/crash_note.hpp"
#include "contracts/child/shared_file.hpp"
#include "contracts/child/tensor_layout.hpp"
#include "contracts/child/wire.hpp"

namespace nbx::contracts {
namespace {

using Clock = std::chrono::steady_clock;

bool has_content(const CallTensor& tensor) { return tensor.role == NBX_IN || tensor.role == NBX_INOUT; }

/// Where each tensor's dense data lies in the memory file; returns its end.
std::uint64_t plan(const Call& call, std::vector<std::uint64_t>& places) {
  constexpr std::uint64_t apart = 64;
  std::uint64_t end = 0;
  for (const CallTensor& tensor : call.tensors) {
    places.push_back(end);
    const auto bytes = static_cast<std::uint64_t>(sandbox::TensorLayout(tensor).dense_bytes());
    end += (bytes + apart - 1) / apart * apart;
  }
  return end;
}

void copy_content(const Call& call, const std::vector<std::uint64_t>& places, std::byte* file) {
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const CallTensor& tensor = call.tensors[i];
    if (!has_content(tensor)) continue;
    const auto bytes = static_cast<std::size_t>(sandbox::TensorLayout(tensor).dense_bytes());
    if (tensor.data == nullptr || tensor.data->size() != bytes) {
      throw std::invalid_argument(fmt::format("tensor {}: {} bytes of data where its shape has {}", tensor.name,
                                              tensor.data == nullptr ? 0 : tensor.data->size(), bytes));
    }
    std::copy(tensor.data->begin(), tensor.data->end(), file + places[i]);
  }
}

void copy_outputs(const Call& call, const std::vector<std::uint64_t>& places, const std::byte* file, Outcome& outcome) {
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i].role == NBX_IN) continue;
    const std::byte* const begin = file + places[i];
    outcome.outputs.emplace_back(begin, begin + sandbox::TensorLayout(call.tensors[i]).dense_bytes());
  }
}

Outcome unanswered(Outcome::Kind kind, sandbox::Stage stage, std::string message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.stage = sandbox::name(stage);
  outcome.message = std::move(message);
  outcome.wrote_nothing = false;  // nobody knows
  return outcome;
}

}  // namespace

struct Executor::State {
  std::filesystem::path pack;
  Options options;
  sandbox::SharedFile file;
  std::unique_ptr<sandbox::ChildProcess> child;
  std::string unusable;  // why the pack never will do
  std::optional<PackInfo> info;
  std::string last_kernel;
  int starts = 0;

  State(std::filesystem::path pack_file, Options given) : pack(std::move(pack_file)), options(std::move(given)) {}

  /// Sends, and waits no longer than the timeout. Otherwise ends the child and says how it ended in `lost`.
  std::optional<wire::Answer> ask(const wire::Request& request, Outcome& lost);
  /// Makes sure of a child that has its pack open; false where there is none, and why.
  bool ready(std::string& why);
  /// Looks whether the child ended since the last call; how, where nobody but the pack can have done that.
  std::string end_between_calls();
  wire::Answer call(wire::Operation operation, const Call& call, bool with_data);

 private:
  bool wait_for_answer() const;
};

bool Executor::State::wait_for_answer() const {
  const auto deadline = Clock::now() + options.timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd answer{child->socket(), POLLIN, 0};
    const int ready = poll(&answer, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000)));
    if (ready > 0) return true;
    if (ready == 0 && Clock::now() >= deadline) return false;
    if (ready < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "poll");
  }
}

std::optional<wire::Answer> Executor::State::ask(const wire::Request& request, Outcome& lost) {
  sandbox::Note& note = file.note();
  note.signal.store(0);
  note.zones.store(0);
  note.stage.store(sandbox::Stage::start);
  std::string nonsense;
  if (wire::send(child->socket(), wire::pack_request(request))) {
    if (!wait_for_answer()) {
      lost = unanswered(Outcome::Kind::timed_out, note.stage.load(),
                        fmt::format("no answer after {} ms in {}", options.timeout.count(), name(note.stage.load())));
      child.reset();
      return std::nullopt;
    }
    if (const auto message = wire::receive(child->socket())) {
      try {
        wire::Answer answer = wire::unpack_answer(*message);
        if (answer.last) child.reset();
        return answer;
      } catch (const std::exception& error) {  // CBOR's and JSON's own types
        nonsense = fmt::format("; its answer was none: {}", error.what());
      }
    }
  }
  const int status = child->end();
  lost = unanswered(Outcome::Kind::crashed, note.stage.load(), sandbox::describe_end(note, status) + nonsense);
  child.reset();
  return std::nullopt;
}

bool Executor::State::ready(std::string& why) {
  if (child != nullptr) return true;
  why = unusable;
  if (!unusable.empty()) return false;
  child = std::make_unique<sandbox::ChildProcess>(options.worker, pack, file.descriptor());
  ++starts;
  wire::Request request;
  file.reserve(0);
  request.file_bytes = file.data_bytes();
  Outcome lost;
  std::optional<wire::Answer> answer = ask(request, lost);
  if (answer && answer->pack) {
    info = std::move(answer->pack);
    return true;
  }
  why = answer ? answer->error : lost.message;
  child.reset();
  if (!info) unusable = why;  // one that did open before may do so again
  return false;
}

std::string Executor::State::end_between_calls() {
  if (child == nullptr || !child->is_gone()) return {};
  const int status = child->end();
  child.reset();
  // end_all_children and the operating system's want of memory kill; a thread that a pack left behind does not.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return {};
  return fmt::format("between calls, after one of {}: {}", last_kernel, describe_end(file.note(), status));
}

wire::Answer Executor::State::call(wire::Operation operation, const Call& call, bool with_data) {
  wire::Request request;
  request.operation = operation;
  request.call = call;
  const std::uint64_t bytes = plan(call, request.places);
  wire::Answer without;
  if (std::string end = end_between_calls(); !end.empty()) {
    without.outcome = unanswered(Outcome::Kind::crashed, sandbox::Stage::harness, std::move(end));
    return without;
  }
  if (std::string why; !ready(why)) {
    without.outcome = unanswered(Outcome::Kind::broken, sandbox::Stage::load, "the pack does not load: " + why);
    return without;
  }
  last_kernel = call.kernel;
  if (with_data) {
    file.reserve(bytes);
    copy_content(call, request.places, file.data());
  }
  request.file_bytes = file.data_bytes();
  std::optional<wire::Answer> answer = ask(request, without.outcome);
  if (!answer) return without;
  if (!answer->error.empty()) throw std::runtime_error(fmt::format("{}: {}", call.kernel, answer->error));
  if (answer->outputs) copy_outputs(call, request.places, file.data(), answer->outcome);
  return std::move(*answer);
}

Executor::Executor(std::filesystem::path pack, Options options)
    : state_(std::make_unique<State>(std::move(pack), std::move(options))) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

std::optional<PackInfo> Executor::open(PackError* error) {
  std::string why;
  if (state_->ready(why)) return state_->info;
  if (error != nullptr) *error = {state_->pack, std::move(why)};
  return std::nullopt;
}

Outcome Executor::can_run(const Call& call) { return state_->call(wire::Operation::can_run, call, false).outcome; }

std::optional<nbx_arithmetic> Executor::arithmetic(const Call& call, std::string* message) {
  wire::Answer answer = state_->call(wire::Operation::arithmetic, call, false);
  if (!answer.arithmetic && message != nullptr) *message = std::move(answer.outcome.message);
  return answer.arithmetic;
}

std::optional<Cost> Executor::cost(const Call& call, std::string* message) {
  wire::Answer answer = state_->call(wire::Operation::cost, call, false);
  if (!answer.cost && message != nullptr) *message = std::move(answer.outcome.message);
  return answer.cost;
}

Outcome Executor::explain(const Call& call) { return state_->call(wire::Operation::explain, call, false).outcome; }

Outcome Executor::execute(const Call& call) { return state_->call(wire::Operation::execute, call, true).outcome; }

Outcome Executor::check_only(const Call& call) { return state_->call(wire::Operation::check_only, call, true).outcome; }

Outcome Executor::run_unchecked(const Call& call) {
  return state_->call(wire::Operation::run_unchecked, call, true).outcome;
}

int Executor::restarts() const { return std::max(state_->starts - 1, 0); }

}  // namespace nbx::contracts
