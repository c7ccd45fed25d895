// What parent and child say to each other. Headers go as CBOR over the socket, each after its length in four bytes;
// tensor data lies in a memory file that both map.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "contracts/call.hpp"
#include "contracts/child/executor.hpp"

namespace nbx::contracts::wire {

enum class Operation : std::uint8_t { open, can_run, arithmetic, explain, cost, execute, check_only, run_unchecked };

/// A call without its data: that lies at places[i] bytes of the memory file, dense, for tensor i.
struct Request {
  Operation operation = Operation::open;
  Call call;
  std::vector<std::uint64_t> places;
  std::uint64_t file_bytes = 0;  // how large the memory file is by now
};

/// What the child answers. Outputs lie in the memory file, at their tensors' places.
struct Answer {
  std::string error;  // of open: why the pack cannot be used; of the others: what the harness itself could not do
  std::optional<PackInfo> pack;
  std::optional<nbx_arithmetic> arithmetic;
  std::optional<Cost> cost;
  Outcome outcome;
  bool outputs = false;  // they lie in the memory file
  bool last = false;     // the child ends after this answer
};

std::vector<std::uint8_t> pack_request(const Request& request);
Request unpack_request(const std::vector<std::uint8_t>& bytes);
std::vector<std::uint8_t> pack_answer(const Answer& answer);
Answer unpack_answer(const std::vector<std::uint8_t>& bytes);

/// Writes one message; false where the other side is gone.
bool send(int socket, const std::vector<std::uint8_t>& message);
/// Waits for one message; nothing where the other side is gone or broke the framing.
std::optional<std::vector<std::uint8_t>> receive(int socket);

}  // namespace nbx::contracts::wire
