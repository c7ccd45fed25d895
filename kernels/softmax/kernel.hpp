// What the kernels of the families softmax and log_softmax share: all but their programs.
#pragma once

#include "kernels/pack/entries.hpp"
#include "kernels/softmax/rows.hpp"
#include "kernels/softmax/rules.hpp"
#include "kernels/tile/block.hpp"

namespace nbx::softmax {

/// The base of a kernel. `Kernel` gives accept(rows), options(launch), launch(rows, how), sum_depth(features) and
/// rescales(features).
template <class Kernel, class T, bool Log>
struct Common {
  static constexpr const char* family = Log ? "log_softmax" : "softmax";
  static constexpr DLDataType format = pack::type_of<T>;

  static Rows read(const nbx_problem& problem, bool with_data) {
    const Rows rows = read_rows(problem, family, format, tile::device, with_data);
    Kernel::accept(rows);
    return rows;
  }

  static void can_run(const nbx_problem& problem) { read(problem, false); }

  static nbx_arithmetic arithmetic(const nbx_problem& problem) {
    const Rows rows = read(problem, false);
    nbx_arithmetic out = pack::tile_arithmetic();
    out.log2_at = NBX_EXP_NATURAL;
    out.normalise = NBX_DIVIDE_OUTPUT;
    out.sum_depth = Kernel::sum_depth(rows.features);
    out.rescales = Kernel::rescales(rows.features);
    return out;
  }

  static std::uint64_t workspace_bytes(const nbx_problem& problem, const nbx_launch* how) {
    read(problem, false);
    Kernel::options(how);
    return 0;
  }

  static void check(const nbx_problem& problem, const nbx_launch* how) {
    read(problem, true);
    Kernel::options(how);
  }

  static void run(const nbx_problem& problem, const nbx_launch& how) {
    const Rows rows = read(problem, true);
    Kernel::options(&how);
    Kernel::launch(rows, how);
  }
};

}  // namespace nbx::softmax
