// Results made by hand, one of everything that a report can show.
#pragma once

#include <string>
#include <utility>

#include "reports/report.hpp"

namespace nbx::reports::sample {

using contracts::CaseResult;
using contracts::ControlResult;
using contracts::FindingResult;
using contracts::KernelResult;
using contracts::PackResult;
using contracts::PowerResult;
using contracts::RunResult;
using contracts::State;

inline KernelResult passing_kernel() {
  KernelResult kernel;
  kernel.kernel = "softmax.tile.f32";
  kernel.pack = "cpu";
  kernel.cases = 412;
  kernel.worst_share = 0.314;
  kernel.worst_case = "softmax.tile.f32/gate1.reference(rows=64,n=4095,sink)";
  kernel.elements = 2'000'000;
  kernel.escalations = {1'999'990, 9, 1, 0, 0};
  kernel.seconds = 0.4;
  return kernel;
}

inline KernelResult failing_kernel() {
  KernelResult kernel;
  kernel.kernel = "flash.simt.f32";
  kernel.pack = "cpu";
  kernel.state = State::red;
  kernel.cases = 890;
  kernel.red = 1;
  kernel.seconds = 2;
  return kernel;
}

inline CaseResult red_case() {
  CaseResult one;
  one.kernel = "flash.simt.f32";
  one.clause = "gate1.reference";
  one.problem = "B=1,H=4,Hk=2,Tq=130,Tk=257,D=128,causal";
  one.state = State::red;
  one.worst_share = 5400.25;
  one.elements = 66'560;
  one.escalations = {66'560, 0, 0, 0, 0};
  one.seconds = 0.125;
  one.red = contracts::Red{"every element lies within its proven bound",
                           {{"wrong", "512 of 66,560 elements   first [0,1,128,0]   worst [0,1,129,17]"},
                            {"expected", "0x1.91eb8p-3   0.196250   ± 3.1e-17"},
                            {"actual", "0x1.7ae14p-3   0.185000"}},
                           "nbx-contract explain '" + one.name() + "' --seed 1"};
  return one;
}

inline CaseResult skipped_case(State state, std::string problem, std::string reason) {
  CaseResult one;
  one.kernel = "softmax.tile.f32";
  one.clause = "gate1.reference";
  one.problem = std::move(problem);
  one.state = state;
  one.reason = std::move(reason);
  return one;
}

inline PackResult pack(std::string name) {
  return {.name = std::move(name),
          .file = "packs/cpu.so",
          .device = "",
          .imitates = "sm_90",
          .toolchain = "g++ 12.2.0",
          .flags = "-O3",
          .error = ""};
}

inline ControlResult control(std::string name, ControlResult::Verdict verdict, std::string why) {
  ControlResult result;
  result.control = std::move(name);
  result.mutates = "softmax.tile.f32";
  result.planted = "the last key is left out";
  result.verdict = verdict;
  result.why = std::move(why);
  return result;
}

inline FindingResult finding(bool showed) {
  return {.id = "nan-scrubbed",
          .kernel = "math.published.f16",
          .clause = "gate1.reference",
          .reason = "a NaN key is scrubbed to zero",
          .showed = showed,
          .judged = true};
}

inline PowerResult power(bool killed) {
  return {.arithmetic = "softmax.tile.f32 (+2)",
          .mutant = "drop the last key",
          .size_class = "64",
          .killed = killed,
          .problem = "rows=64,n=64,normal",
          .multiple = killed ? 120.0 : 0.5};
}

/// One kernel, all of it green.
inline RunResult green() {
  RunResult result;
  result.tier = "default";
  result.command = {"nbx-contract", "run", "--summary"};
  result.packs = {pack("cpu"), pack("controls")};
  result.kernels = {passing_kernel()};
  result.controls = {control("softmax.dropped_key.f32", ControlResult::Verdict::red_as_planted, "")};
  result.power = {power(true)};
  result.cases_run = 412;
  result.seconds = 0.5;
  return result;
}

inline Report report(RunResult result) {
  Report whole;
  whole.result = std::move(result);
  whole.start = 1'700'000'000'000;
  whole.stop = 1'700'000'000'500;
  return whole;
}

/// Everything at once: pass, red, known, declined, pending, stale; each verdict of a control; a stale finding, a live
/// mutant, a pack that failed.
inline RunResult everything() {
  RunResult result = green();
  KernelResult known = passing_kernel();
  known.kernel = "math.published.f16";
  known.state = State::known;
  known.cases = 655;
  known.known = 1;
  known.findings = 1;
  known.seconds = 0.6;
  KernelResult declined;
  declined.kernel = "softmax.tile.bf16";
  declined.state = State::declined;
  declined.declined = 2;
  result.kernels = {passing_kernel(), known, failing_kernel(), declined};
  CaseResult scrubbed = skipped_case(State::known, "Tk=257,nan_key", "a NaN key is scrubbed to zero");
  scrubbed.kernel = known.kernel;
  CaseResult long_row = skipped_case(State::declined, "rows=2,n=5000", "a row of 5,000 features; the tile holds 4,096");
  long_row.kernel = declined.kernel;
  result.cases = {red_case(), scrubbed, long_row,
                  skipped_case(State::pending, "twin", "no H200 record of this problem"),
                  skipped_case(State::stale, "twin", "the record is older than the build")};
  result.cases[2 + 1].clause = result.cases[4].clause = "gate3.twin";
  using Verdict = ControlResult::Verdict;
  result.controls = {control("c.red", Verdict::red_as_planted, ""),
                     control("c.missed", Verdict::missed, "gate1.reference stayed green"),
                     control("c.equivalent", Verdict::equivalent, ""), control("c.within", Verdict::within_bound, ""),
                     control("c.unjudged", Verdict::not_judged, "one of its problems is in another shard")};
  result.controls[3].share = 0.91;
  FindingResult stale = finding(false);
  stale.id = "mended";
  result.findings = {finding(true), stale};
  result.power = {power(true), power(false)};
  PackResult broken = pack("mine");
  broken.file = "./mine.so";
  broken.error = "it exports no nbx_pack_open";
  result.packs.push_back(broken);
  result.notes = {"CUDA: no device"};
  result.cases_run = 1'959;
  return result;
}

}  // namespace nbx::reports::sample
