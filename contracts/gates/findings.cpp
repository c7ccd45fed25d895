// The registered findings. Add one: a row here, and its planted problem, with and without the plant, in the family's
// table.
#include "contracts/gates/findings.hpp"

#include <algorithm>

#include "contracts/pattern.hpp"

namespace nbx::contracts {
namespace {

constexpr std::string_view plant_field = ",plant=";

constexpr Finding table[] = {
    {.id = "math.published.nan_key",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "nan_key",
     .reason = "every NaN of P becomes 0, so a NaN in a visible key leaves its rows finite"},
    {.id = "math.published.nan_key_by_tile",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "nan_key_by_tile",
     .reason = "every NaN of P becomes 0, so a NaN in a visible key leaves its rows finite"},
    {.id = "math.published.nan_query",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "nan_query",
     .reason = "every NaN of P becomes 0, so a NaN in a query leaves its row at 0"},
    {.id = "math.published.inf_key",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "inf_key",
     .reason = "a score of +inf makes inf - inf, and every NaN of P becomes 0"},
    {.id = "math.published.masked_nan_key",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "masked_nan_key",
     .reason = "the bias of -inf is added to a NaN score, which stays NaN, empties the row and becomes 0"},
    {.id = "math.published.hidden_nan_key",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "hidden_nan_key",
     .reason = "the mask is added to the scores, so a NaN in a key that nobody sees stays NaN and empties every row"},
    {.id = "math.published.hidden_nan_value",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "hidden_nan_value",
     .reason = "a hidden key has weight 0 and 0 · NaN is NaN, so its value shows in every row"},
    {.id = "math.published.partly_hidden_nan",
     .kernel = "math.published.*",
     .clauses = {"gate1.reference", "gate3.rows"},
     .plant = "partly_hidden_nan",
     .reason = "0 · NaN is NaN, so a NaN value shows in rows that come before its key"},
    {.id = "flash.published.nan_query",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "nan_query",
     .reason = "whenever a mask is given, every NaN and infinity of O becomes 0: a NaN in a query leaves its row at 0",
     .problems = "*,bias=*"},
    {.id = "flash.published.nan_key",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "nan_key",
     .reason =
         "whenever a mask is given, every NaN and infinity of O becomes 0: a NaN in a visible key leaves its rows at 0",
     .problems = "*,bias=*"},
    {.id = "flash.published.nan_value",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "nan_value",
     .reason = "whenever a mask is given, every NaN and infinity of O becomes 0: a NaN in a visible value leaves its "
               "column at 0",
     .problems = "*,bias=*"},
    {.id = "flash.published.inf_key",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "inf_key",
     .reason = "whenever a mask is given, every NaN and infinity of O becomes 0: the NaN that a score of +inf makes "
               "becomes 0",
     .problems = "*,bias=*"},
    {.id = "flash.published.inf_value",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "inf_value",
     .reason =
         "whenever a mask is given, every NaN and infinity of O becomes 0: an infinite value leaves its column at 0",
     .problems = "*,bias=*"},
    {.id = "flash.published.opposite_infs",
     .kernel = "flash.published.*",
     .clauses = {"gate1.reference"},
     .plant = "opposite_infs",
     .reason =
         "whenever a mask is given, every NaN and infinity of O becomes 0: the NaN of opposite infinities becomes 0",
     .problems = "*,bias=*"},
    {.id = "splash.uniform.broken_promise",
     .kernel = "splash.uniform.*",
     .clauses = {"gate1.lost_mass"},
     .plant = "broken_promise",
     .reason = "the caller says that a block is eligible whose bound passes the gate, and nothing looks"},
    {.id = "decode.published.splits",
     .kernel = "decode.published.*",
     .clauses = {"gate3.batch"},
     .plant = "taken_back",
     .reason = "splits follow from the longest sequence of the batch, so a stranger's length changes one's bits"},
    {.id = "q35.published.nan_chunk",
     .kernel = "q35.published.*",
     .clauses = {"gate1.reference"},
     .plant = "nan_chunk",
     .reason = "the merge takes a chunk only if its sum is above 0, which a NaN is not: its row stays finite"},
    {.id = "paged.published.splits",
     .kernel = "paged.published.*",
     .clauses = {"gate3.batch"},
     .plant = "taken_back",
     .reason = "splits follow from the longest sequence of the batch, so a stranger's length changes one's bits"},
};

}  // namespace

std::span<const Finding> findings() { return table; }

const Finding* finding_for(std::span<const Finding> registered, std::string_view kernel, std::string_view clause,
                           std::string_view problem) {
  const std::size_t at = problem.find(plant_field);
  if (at == std::string_view::npos) return nullptr;
  const std::string_view plant = problem.substr(at + plant_field.size());
  for (const Finding& finding : registered)
    if (finding.plant == plant && selects(finding.kernel, kernel) && glob(finding.problems, problem) &&
        std::find(std::begin(finding.clauses), std::end(finding.clauses), clause) != std::end(finding.clauses))
      return &finding;
  return nullptr;
}

std::string without_plant(std::string_view problem) {
  const std::size_t at = problem.find(plant_field);
  return at == std::string_view::npos ? std::string() : std::string(problem.substr(0, at));
}

}  // namespace nbx::contracts
