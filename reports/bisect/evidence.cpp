#include "reports/bisect/evidence.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

#include "reports/bisect/objects.hpp"
#include "reports/bisect/symbols.hpp"
#include "reports/content_hash.hpp"
#include "reports/program.hpp"
#include "reports/text.hpp"

namespace nbx::reports::bisect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_mnemonics = 12;

struct Listing {
  std::int64_t instructions = 0;
  std::map<std::string, std::int64_t> count;  // by mnemonic
};

/// "   mulss  %xmm1,%xmm0" under a line "0000 <symbol>:".
Listing read_listing(const std::string& text) {
  Listing out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('\t') && !line.starts_with(' ')) continue;
    // An address and a colon may come first; then the mnemonic is the first word.
    const std::size_t tab = line.rfind(":\t");
    std::istringstream words(tab == std::string::npos ? line : line.substr(tab + 2));
    std::string mnemonic;
    if (!(words >> mnemonic)) continue;
    ++out.instructions;
    ++out.count[mnemonic];
  }
  return out;
}

void add_listing(Listing& to, const Listing& more) {
  to.instructions += more.instructions;
  for (const auto& [mnemonic, count] : more.count) to.count[mnemonic] += count;
}

Listing disassembled(const fs::path& object, const std::vector<std::string>& functions) {
  Listing out;
  const auto add = [&](const std::string& what) {
    const Finished finished =
        run_program({"objdump", what, "--no-show-raw-insn", object}, {.folder = {}, .both = false});
    if (finished.good()) add_listing(out, read_listing(finished.output));
  };
  for (const std::string& function : functions) add("--disassemble=" + function);
  if (functions.empty()) add("-d");
  return out;
}

}  // namespace

std::string code_hash(const fs::path& object) { return content_hash(loaded_content(object)); }

std::vector<std::string> functions_in_both(const fs::path& good, const fs::path& bad) {
  const std::vector<std::string> a = functions_of(good), b = functions_of(bad);
  std::vector<std::string> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::string instruction_difference(const fs::path& good, const fs::path& bad,
                                   const std::vector<std::string>& functions) {
  const Listing a = disassembled(good, functions), b = disassembled(bad, functions);
  if (a.instructions == 0 && b.instructions == 0) return {};
  std::map<std::string, std::int64_t> change = b.count;
  for (const auto& [mnemonic, count] : a.count) change[mnemonic] -= count;
  std::vector<std::pair<std::string, std::int64_t>> sorted;
  for (const auto& [mnemonic, count] : change) {
    if (count != 0) sorted.emplace_back(mnemonic, count);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& x, const auto& y) { return std::abs(x.second) > std::abs(y.second); });
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < std::min(sorted.size(), most_mnemonics); ++i) {
    const auto& [mnemonic, count] = sorted[i];
    parts.push_back(fmt::format("{} {} {}", std::abs(count), count > 0 ? "more" : "fewer", mnemonic));
  }
  if (sorted.size() > most_mnemonics) parts.push_back(fmt::format("{} others", sorted.size() - most_mnemonics));
  return fmt::format("{} to {} instructions{}{}", grouped(a.instructions), grouped(b.instructions),
                     parts.empty() ? ", in another order or with other operands" : ": ", joined(parts, ", "));
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? std::string(name.get()) : symbol;
}

}  // namespace nbx::reports::bisect
