// One aligned line per kernel: verdict, cases, the worst error as a share of its bound, time.
#pragma once

#include <string>
#include <vector>

#include "contracts/result.hpp"
#include "reports/paint.hpp"

namespace nbx::reports {

/// "ok", "known", "FAIL" or "declined".
std::string verdict_word(const contracts::KernelResult& kernel);

/// What stands between cases and time: the worst share and its case, the finding, the first red case, or the reason.
std::string kernel_remark(const contracts::KernelResult& kernel, const contracts::RunResult& result, std::size_t width);

/// The lines of `kernels`, at most `width` wide where names allow it.
std::string kernel_table(const std::vector<const contracts::KernelResult*>& kernels, const contracts::RunResult& result,
                         std::size_t width, const Paint& paint);

}  // namespace nbx::reports
