// nbx-contract splash-report: what each gate of fixed-m attention would cost on given inputs, and what it would lose.
#include "oracle/splash_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "contracts/random.hpp"
#include "reports/commands/commands.hpp"
#include "reports/exit_code.hpp"
#include "reports/safetensors.hpp"

namespace nbx::reports {
namespace {

struct Words {
  std::vector<std::string> files;
  std::int64_t calls = 20, heads = 8, queries = 128, keys = 1024, dim = 64, block_q = 64, window_keys = 0;
  double median = 45, spread = 0.45, v_max = 256;
  bool ftz = false;
  std::uint64_t seed = 1;
};

constexpr double log2_e = 1.4426950408889634;

/// The model: head h of a call has q = log2 e · g · x and k = g · y / √D, x and y of independent normal components, and
/// log g normal, so that U is log-normal over heads with the given median and spread (of ln U). Norms of heads far
/// apart, a few of them large: what trained video models show.
std::vector<StoredTensor> generated(const Words& words, std::int64_t call) {
  contracts::Random random(words.seed, fmt::format("splash-report/{}", call));
  const auto dim = static_cast<double>(words.dim);
  // U of g = 1: the largest of many norms, each near √D but for a fluctuation of order 1.
  const auto largest = [&](std::int64_t rows) {
    return std::sqrt(dim) + std::sqrt(std::log(static_cast<double>(std::max<std::int64_t>(rows, 2))));
  };
  const double unit = log2_e * largest(words.block_q) * largest(words.keys) / std::sqrt(dim);
  std::vector<StoredTensor> out(3);
  std::vector<double> gain;
  for (std::int64_t h = 0; h < words.heads; ++h)
    gain.push_back(std::sqrt(words.median / unit * std::exp(words.spread * random.normal())));
  for (int which = 0; which < 3; ++which) {
    StoredTensor& tensor = out[static_cast<std::size_t>(which)];
    tensor.format = oracle::Format::bf16;
    tensor.shape = {1, words.heads, which == 0 ? words.queries : words.keys, words.dim};
    for (std::int64_t i = 0; i < tensor.view().size(); ++i) {
      const double g = gain[static_cast<std::size_t>(i / (tensor.shape[2] * words.dim))];
      const double factor = which == 0 ? log2_e * g : which == 1 ? g / std::sqrt(dim) : 1;
      const std::uint32_t bits = oracle::encode(tensor.format, factor * random.normal());
      tensor.bytes.push_back(static_cast<std::byte>(bits & 0xFF));
      tensor.bytes.push_back(static_cast<std::byte>(bits >> 8));
    }
  }
  return out;
}

std::vector<StoredTensor> stored(const std::string& file) {
  auto tensors = read_safetensors(file, {"q", "k", "v"});
  const auto &q = tensors["q"].shape, &k = tensors["k"].shape, &v = tensors["v"].shape;
  const bool agree = q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3] && k[1] > 0 &&
                     q[1] % k[1] == 0 && q[2] > 0 && k[2] > 0;
  if (!agree) {
    throw UsageError(
        fmt::format("{}: q, k and v are no attention: accepted: q [B, H, Tq, D], k [B, Hk, Tk, D], "
                    "v [B, Hk, Tk, Dv], Hk a divisor of H",
                    file));
  }
  return {std::move(tensors["q"]), std::move(tensors["k"]), std::move(tensors["v"])};
}

int print_report(const Words& words) {
  std::vector<oracle::GateRule> rules;
  std::vector<oracle::GateLoss> losses;
  std::int64_t keys = 0;
  const auto count = words.files.empty() ? words.calls : static_cast<std::int64_t>(words.files.size());
  for (std::int64_t call = 0; call < count; ++call) {
    const auto tensors =
        words.files.empty() ? generated(words, call) : stored(words.files[static_cast<std::size_t>(call)]);
    oracle::SplashInput in{.q = tensors[0].view(), .k = tensors[1].view(), .v = tensors[2].view(), .k_mean = {}};
    in.block_q = words.block_q;
    in.keys = words.window_keys;
    in.v_max = words.v_max;
    in.holds = tensors[0].format != oracle::Format::f16;
    if (!rules.empty() && in.count() != keys)
      throw UsageError(
          fmt::format("calls of {} and {} keys have windows of their own: report each alone, or give "
                      "--window-keys",
                      keys, in.count()));
    keys = in.count();
    rules = oracle::gate_rules(keys, words.v_max);
    oracle::add_call(in, rules, words.ftz, losses);
  }
  const oracle::SplashWindow w = oracle::splash_window(keys, words.v_max);
  fmt::print("splash gates for N = {} keys, |v| <= {}: C {}, W {}; flush-to-zero {}\n", keys, words.v_max, w.C, w.W,
             words.ftz ? "on" : "off");
  if (words.files.empty())
    fmt::print("generated: U log-normal over heads, median {:g}, standard deviation of ln U {:g}; seed {}\n",
               words.median, words.spread, words.seed);
  fmt::print("{} entries (batch, head, block of {} rows) in {} calls, keys centred\n\n", losses[0].entries,
             words.block_q, losses[0].calls);
  fmt::print("{:<24} {:>5} {:>10} {:>10}   {:>12} {:>12} {:>14}   {}\n", "gate", "", "fall back", "calls", "bound",
             "lost mass", "contribution", "holds where");
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const double share = static_cast<double>(losses[r].fallen) / static_cast<double>(losses[r].entries);
    fmt::print("{:<24} {:>5} {:>8.2f} % {:>10}   {:>12} {:>12.3g} {:>14.3g}   {}\n", rules[r].name, rules[r].gate,
               100 * share, losses[r].calls_with_any, rules[r].bound, losses[r].lost_mass, losses[r].lost_contribution,
               rules[r].assumption == "none" ? "always" : rules[r].assumption);
  }
  return exit_ok;
}

}  // namespace

void add_splash_report(CLI::App& app, Session& session) {
  auto* report = app.add_subcommand("splash-report", "What each gate of fixed-m attention costs on inputs, and loses");
  auto words = std::make_shared<Words>();
  report
      ->add_option("FILE", words->files,
                   "One call a file: .safetensors with q [B, H, Tq, D], k [B, Hk, Tk, D], v [B, Hk, Tk, Dv] of F32, "
                   "F16 or BF16, q multiplied by log2 e and k by 1/sqrt(D). None: generated calls")
      ->type_name("");
  const auto number = [&](const char* name, std::int64_t& value, const char* what) {
    report->add_option(name, value, what)->check(CLI::PositiveNumber)->capture_default_str();
  };
  number("--calls", words->calls, "Calls to generate");
  number("--heads", words->heads, "Heads of a generated call");
  number("--queries", words->queries, "Query rows");
  number("--keys", words->keys, "Keys");
  number("--dim", words->dim, "Head dim");
  number("--block-q", words->block_q, "Query rows of a block");
  report->add_option("--window-keys", words->window_keys, "N of the window, where it is not the number of keys");
  report->add_option("--median", words->median, "Median of U over heads")->check(CLI::PositiveNumber);
  report->add_option("--spread", words->spread, "Standard deviation of ln U over heads")->check(CLI::NonNegativeNumber);
  report->add_option("--v-max", words->v_max, "Largest |v| of the window")->check(CLI::PositiveNumber);
  report->add_flag("--ftz", words->ftz, "Subnormal weights are lost");
  report->add_option("--seed", words->seed, "Of the generated calls");
  report->footer(
      "Examples:\n"
      "  nbx-contract splash-report --median 60 --spread 0.5 --ftz\n"
      "  nbx-contract splash-report layer0.safetensors layer1.safetensors --window-keys 75600");
  report->callback([words, &session] { session.action = [words] { return print_report(*words); }; });
}

}  // namespace nbx::reports
