// The fields of a result by name, each listed once for writing and reading alike, so that the two cannot part.
#pragma once

#include "contracts/result.hpp"

namespace nbx::reports {

template <class Archive, class Red>
void red_fields(Archive& archive, Red& red) {
  archive("clause_sentence", red.clause_sentence);
  archive("lines", red.lines);
  archive("again", red.again);
}

template <class Archive, class Case>
void case_fields(Archive& archive, Case& one) {
  archive("kernel", one.kernel);
  archive("clause", one.clause);
  archive("problem", one.problem);
  archive("state", one.state);
  archive("reason", one.reason);
  archive("red", one.red);
  archive("worst_share", one.worst_share);
  archive("elements", one.elements);
  archive("overflow_open", one.overflow_open);
  archive("escalations", one.escalations);
  archive("seconds", one.seconds);
}

template <class Archive, class Kernel>
void kernel_fields(Archive& archive, Kernel& kernel) {
  archive("kernel", kernel.kernel);
  archive("pack", kernel.pack);
  archive("state", kernel.state);
  archive("cases", kernel.cases);
  archive("red", kernel.red);
  archive("known", kernel.known);
  archive("declined", kernel.declined);
  archive("skipped", kernel.skipped);
  archive("findings", kernel.findings);
  archive("worst_share", kernel.worst_share);
  archive("worst_case", kernel.worst_case);
  archive("elements", kernel.elements);
  archive("overflow_open", kernel.overflow_open);
  archive("escalations", kernel.escalations);
  archive("seconds", kernel.seconds);
}

template <class Archive, class Control>
void control_fields(Archive& archive, Control& control) {
  archive("control", control.control);
  archive("mutates", control.mutates);
  archive("planted", control.planted);
  archive("verdict", control.verdict);
  archive("why", control.why);
  archive("red_at", control.red_at);
  archive("share", control.share);
}

template <class Archive, class Finding>
void finding_fields(Archive& archive, Finding& finding) {
  archive("id", finding.id);
  archive("kernel", finding.kernel);
  archive("clause", finding.clause);
  archive("reason", finding.reason);
  archive("showed", finding.showed);
  archive("judged", finding.judged);
}

template <class Archive, class Power>
void power_fields(Archive& archive, Power& power) {
  archive("arithmetic", power.arithmetic);
  archive("mutant", power.mutant);
  archive("size_class", power.size_class);
  archive("killed", power.killed);
  archive("problem", power.problem);
  archive("multiple", power.multiple);
}

template <class Archive, class Pack>
void pack_fields(Archive& archive, Pack& pack) {
  archive("name", pack.name);
  archive("file", pack.file);
  archive("device", pack.device);
  archive("imitates", pack.imitates);
  archive("toolchain", pack.toolchain);
  archive("flags", pack.flags);
  archive("error", pack.error);
}

/// All but the cases, which stand with the tests.
template <class Archive, class Report>
void report_fields(Archive& archive, Report& report) {
  archive("seed", report.result.seed);
  archive("tier", report.result.tier);
  archive("command", report.result.command);
  archive("shard", report.shard);
  archive("shards", report.shards);
  archive("strict", report.strict);
  archive("cases_run", report.result.cases_run);
  archive("codegen_cases", report.result.codegen_cases);
  archive("codegen", report.result.codegen);
  archive("seconds", report.result.seconds);
  archive("interrupted", report.result.interrupted);
  archive("packs", report.result.packs);
  archive("kernels", report.result.kernels);
  archive("controls", report.result.controls);
  archive("findings", report.result.findings);
  archive("power", report.result.power);
  archive("unmatched", report.result.unmatched);
  archive("notes", report.result.notes);
  archive("harness_errors", report.result.harness_errors);
}

}  // namespace nbx::reports
