#include "tools/client/control/slot_summary.h"

#include <algorithm>
#include <array>
#include <set>

namespace tributary::client {
namespace {

constexpr std::array kSame = {"job", "plane", "op", "state"};

bool is_same(const Json& sum, const Json& row) {
  return std::all_of(kSame.begin(), kSame.end(), [&](const char* key) {
    return sum.contains(key) == row.contains(key) && (!row.contains(key) || sum[key] == row[key]);
  });
}

Json begin(const Json& row) {
  Json sum = Json::object();
  for (const char* const key : kSame)
    if (row.contains(key)) sum[key] = row[key];
  sum["chunks"] = 0;
  sum["oldest_ms"] = 0.0;
  sum["missing"] = Json::array();
  return sum;
}

void add(const Json& row, Json& sum) {
  sum["chunks"] = sum["chunks"].get<std::uint64_t>() + 1;
  const double age =
      row.contains("open_ms") && row["open_ms"].is_number() ? row["open_ms"].get<double>() : 0;
  sum["oldest_ms"] = std::max(sum["oldest_ms"].get<double>(), age);
  if (!row.contains("missing") || !row["missing"].is_array()) return;
  std::set<Json> ranks(sum["missing"].begin(), sum["missing"].end());
  ranks.insert(row["missing"].begin(), row["missing"].end());
  sum["missing"] = ranks;
}

}  // namespace

Json sum_up_slots(const Json& rows) {
  if (!rows.is_array()) return rows;
  Json sums = Json::array();
  for (const Json& row : rows) {
    if (!row.is_object()) return rows;
    auto at =
        std::find_if(sums.begin(), sums.end(), [&](const Json& sum) { return is_same(sum, row); });
    if (at == sums.end()) {
      sums.push_back(begin(row));
      at = std::prev(sums.end());
    }
    add(row, *at);
  }
  return sums;
}

}  // namespace tributary::client
