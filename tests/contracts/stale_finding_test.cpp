// A finding that is registered on a kernel without its fault: the real kernel runs, and the entry is stale.
#include <gtest/gtest.h>

#include "contracts/task.hpp"

namespace nbx::contracts {
namespace {

constexpr Finding registered[] = {{.id = "planted",
                                   .kernel = "flash.*",
                                   .clauses = {"gate1.reference"},
                                   .plant = "nan_key",
                                   .reason = "a NaN in a visible key leaves its rows at 0",
                                   .problems = "*,bias=*"}};

FindingResult only_finding(const std::string& kernel) {
  RunOptions options;
  options.packs = {NBX_CPU_PACK};
  options.patterns = {kernel + "/gate1.reference(*Tq=8,*,bias=qk,normal,plant=nan_key)"};
  const auto inventory = open_packs(options);
  const Plan plan = make_plan(*inventory, options);
  Collector collector(*inventory, options, registered);
  Children children(*inventory, options.timeout);
  const Records records;
  const TaskContext context{*inventory, options, records, collector, children, [] { return false; }};
  for (const Task& task : plan.tasks) run_task(context, task);
  const RunResult result = collector.result(plan, true);
  EXPECT_EQ(result.cases_run, 1) << kernel;
  EXPECT_EQ(result.findings.size(), 1U) << kernel;
  return result.findings.empty() ? FindingResult{} : result.findings.front();
}

TEST(StaleFinding, ShowsOnTheKernelAsItWasShipped) {
  const FindingResult finding = only_finding("flash.published.f16");
  EXPECT_TRUE(finding.showed);
  EXPECT_FALSE(finding.stale());
}

TEST(StaleFinding, IsReportedWhereItIsRegisteredOnTheCorrectedKernel) {
  const FindingResult finding = only_finding("flash.simt.f16");
  EXPECT_TRUE(finding.judged);
  EXPECT_TRUE(finding.stale());
}

}  // namespace
}  // namespace nbx::contracts
