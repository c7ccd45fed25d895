#include "reports/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/entries.hpp"
#include "reports/text.hpp"

namespace nbx::reports {
namespace {

using Status = Entry::Status;

std::string attribute(const char* name, std::string_view value) {
  return fmt::format(" {}=\"{}\"", name, xml_text(value));
}

std::string counts_attributes(const std::vector<Entry>& entries) {
  const EntryCounts counts = count(entries);
  double seconds = 0;
  for (const Entry& entry : entries) seconds += entry.seconds;
  return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"", counts.tests,
                     counts.failed, counts.errors, counts.skipped, seconds);
}

std::string element(const char* name, const Entry& entry) {
  const std::string open = fmt::format("      <{}{}", name, attribute("message", entry.message));
  return entry.trace.empty() ? open + "/>\n" : fmt::format("{}>{}</{}>\n", open, xml_text(entry.trace), name);
}

std::string testcase(const Entry& entry) {
  const std::string open = fmt::format("    <testcase{}{} time=\"{:.3f}\"", attribute("classname", entry.suite),
                                       attribute("name", entry.name), entry.seconds);
  std::string body;
  switch (entry.status) {
    case Status::failed:
      body = element("failure", entry);
      break;
    case Status::error:
      body = element("error", entry);
      break;
    case Status::skipped:
      body = element("skipped", entry);
      break;
    case Status::passed:
      if (!entry.message.empty()) {
        body = fmt::format("      <system-out>{}</system-out>\n", xml_text(entry.message + "\n" + entry.trace));
      }
      break;
  }
  return body.empty() ? open + "/>\n" : open + ">\n" + body + "    </testcase>\n";
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':  // kept as it is in an attribute too, where XML would make a blank of it
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string to_junit(const Report& report) {
  const std::vector<Entry> list = entries(report);
  std::vector<std::string> suites;
  for (const Entry& entry : list) {
    if (std::find(suites.begin(), suites.end(), entry.suite) == suites.end()) suites.push_back(entry.suite);
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format("<testsuites name=\"nbx-contract\"{}>\n", counts_attributes(list));
  for (const std::string& suite : suites) {
    std::vector<Entry> own;
    std::copy_if(list.begin(), list.end(), std::back_inserter(own),
                 [&](const Entry& entry) { return entry.suite == suite; });
    out += fmt::format("  <testsuite{}{}>\n", attribute("name", suite), counts_attributes(own));
    for (const Entry& entry : own) out += testcase(entry);
    out += "  </testsuite>\n";
  }
  return out + "</testsuites>\n";
}

}  // namespace nbx::reports
