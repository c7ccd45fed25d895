// A run as a flat list of tests, which is what JSON, JUnit and Markdown know. Everything that makes the exit code
// differ from 0 is an entry that did not pass, so a viewer of a report sees what the command's caller sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/report.hpp"

namespace nbx::reports {

struct Entry {
  enum class Status : std::uint8_t { passed, failed, error, skipped };
  std::string suite, name;  // "math.simt.bf16", the case's name
  Status status = Status::passed;
  std::string message;  // one line; why, of all but a plain pass
  std::string trace;    // of a red case: the block that the summary shows
  double seconds = 0;
  const contracts::CaseResult* of_case = nullptr;  // into the report
};

/// The listed cases; one entry per kernel for its plain passes that are not listed; controls, power, and what else
/// failed. Valid as long as `report` is.
std::vector<Entry> entries(const Report& report);

struct EntryCounts {
  std::int64_t tests = 0, passed = 0, failed = 0, errors = 0, skipped = 0;
};
EntryCounts count(const std::vector<Entry>& entries);

}  // namespace nbx::reports
