// The clauses, in the order of the gates. Add one: a row here, and its judge in its gate's file.
#include <algorithm>

#include "contracts/clause.hpp"

namespace nbx::contracts {
namespace {

bool always(const KernelInfo&, const PackInfo&) { return true; }

template <const char* id>
bool promised(const KernelInfo& kernel, const PackInfo&) {
  return promises(kernel, id);
}

bool has_axis(const KernelInfo& kernel, std::string_view clause) {
  return std::any_of(kernel.axes.begin(), kernel.axes.end(),
                     [&](const AxisInfo& axis) { return axis.clause == clause; });
}
bool has_grid(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.grid"); }
bool has_chunk(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.chunk"); }
bool has_split(const KernelInfo& kernel, const PackInfo&) { return has_axis(kernel, "gate3.split"); }
bool on_host(const KernelInfo&, const PackInfo& pack) { return pack.device.device_type == kDLCPU; }

constexpr char rows[] = "gate3.rows", batch[] = "gate3.batch", view[] = "gate3.view", pad[] = "gate3.pad",
               pair[] = "gate3.pair", twin[] = "gate3.twin";

constexpr Clause table[] = {
    {.id = "gate1.reference",
     .sentence = "every element lies within its proven bound, under every configuration of the launch",
     .source = "the definition; the bound follows from the declared arithmetic (oracle/README.md)",
     .gate = 1,
     .applies = always,
     .equality = false,
     .judge = judge_reference},
    {.id = "gate2.repeat",
     .sentence = "five runs give the same bits, whatever memory held before",
     .source = "determinism; the workspace's content is undefined by the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_repeat},
    {.id = "gate2.order",
     .sentence = "the order of blocks and of items changes no bit",
     .source = "items of a phase and blocks of a grid are independent: another answer is a race",
     .gate = 2,
     .applies = on_host,
     .judge = judge_order},
    {.id = "gate2.written",
     .sentence = "every output element is written",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_written},
    {.id = "gate2.guard",
     .sentence = "guard zones, gaps between rows and inputs keep their bytes",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_guard},
    {.id = "gate2.reads",
     .sentence =
         "nothing outside the tensors is read: what lies there never shows, and a protected page is not touched",
     .source = "the roles of the pack interface",
     .gate = 2,
     .applies = always,
     .judge = judge_reads},
    {.id = "gate3.grid",
     .sentence = "the launch grid changes no bit",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_grid,
     .judge = judge_grid},
    {.id = "gate3.rows",
     .sentence = "rows launched alone have the bits of rows launched together",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<rows>,
     .judge = judge_rows},
    {.id = "gate3.batch",
     .sentence = "a sequence alone has the bits of a sequence among strangers",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<batch>,
     .judge = judge_batch},
    {.id = "gate3.chunk",
     .sentence = "every chunk height gives the same bits",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_chunk,
     .judge = judge_chunk},
    {.id = "gate3.split",
     .sentence = "every number of splits gives the same bits",
     .source = "promised by the kernel's axes",
     .gate = 3,
     .applies = has_split,
     .judge = judge_split},
    {.id = "gate3.view",
     .sentence = "strides change no bit: permuted, spread, broadcast, and odd on size-1 axes",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<view>,
     .judge = judge_view},
    {.id = "gate3.pad",
     .sentence = "padding behind -inf changes no bit",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<pad>,
     .judge = judge_pad},
    {.id = "gate3.pair",
     .sentence = "two named kernels, or one with KV heads shared and expanded, give the same bits",
     .source = "promised by the kernel",
     .gate = 3,
     .applies = promised<pair>,
     .judge = judge_pair},
    {.id = "gate3.twin",
     .sentence = "the CPU and the GPU give the same bits",
     .source = "one source for both back ends; without a GPU its recorded bits stand for it",
     .gate = 3,
     .applies = promised<twin>,
     .equality = false,
     .judge = judge_twin},
};

constexpr std::string_view refused =
    "an invalid call is refused, names argument, value and what is accepted, and "
    "writes nothing";
constexpr std::string_view documented = "the family's preconditions (kernels/README.md)";
constexpr CallClause calls[] = {
    {"gate4.axis", refused, documented},
    {"gate4.shape", refused, documented},
    {"gate4.format", refused, documented},
    {"gate4.missing", refused, documented},
    {"gate4.unknown", refused, documented},
    {"gate4.head_dim", refused, documented},
    {"gate4.heads", refused, documented},
    {"gate4.kv_shape", refused, documented},
    {"gate4.mask", refused, documented},
    {"gate4.scale", refused, documented},
    {"gate4.causal", refused, documented},
    {"gate4.empty", "empty tensors are right or refused, never wrong", documented},
    {"gate4.offsets", "offsets past 2^31 elements are right or refused, never wrong", documented},
};

}  // namespace

std::span<const Clause> clauses() { return table; }
std::span<const CallClause> call_clauses() { return calls; }

bool promises(const KernelInfo& kernel, std::string_view clause) {
  return std::any_of(kernel.equalities.begin(), kernel.equalities.end(), [&](const EqualityInfo& equality) {
    return equality.clause == clause && equality.reason.empty();
  });
}

}  // namespace nbx::contracts
