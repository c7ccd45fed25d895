// A test's call on the pack of a device: tensors go to its memory, outputs come back.
#pragma once

#include <functional>
#include <string>

#include "tests/kernels/pack_call.hpp"

namespace nbx::test {

/// Loaded once per file, for the current device. Throws std::runtime_error with the pack's words where it does not
/// serve.
const nbx_pack& device_pack(const std::string& file);

/// Runs `call` by the kernel of its name. `wait` returns when `stream` is done; outputs are read where it gives NBX_OK.
/// Tensors are dense. Throws std::runtime_error with the kernel's words where a status is another.
void run_on_device(const nbx_pack& pack, PackCall& call, void* stream, const std::function<nbx_status()>& wait);

}  // namespace nbx::test
