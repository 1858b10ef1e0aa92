#include "tools/client/control/rates.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tributary::client {
namespace {

bool same_subject(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object() || a.size() != b.size() || a.empty()) return false;
  if (*a.begin() != *b.begin()) return false;
  for (const auto& [key, value] : a.items())
    if (value.is_string() && (!b.contains(key) || b.at(key) != value)) return false;
  return true;
}

std::string grown(std::int64_t value, std::int64_t before, double seconds) {
  std::array<char, 64> text{};
  const double rate = static_cast<double>(value - before) / seconds;
  std::snprintf(text.data(), text.size(), "%lld +%.*f/s", static_cast<long long>(value),
                rate < 10 ? 1 : 0, rate);
  return text.data();
}

}  // namespace

Json with_rates(const Json& before, const Json& now, double seconds) {
  Json out = now;
  if (!before.is_array() || !now.is_array() || seconds <= 0) return out;
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    if (!same_subject(now[i], before[i])) continue;
    for (auto& [key, value] : out[i].items()) {
      const auto old = before[i].find(key);
      if (old == before[i].end() || !old->is_number_integer() || !value.is_number_integer())
        continue;
      const auto number = value.get<std::int64_t>();
      if (number > old->get<std::int64_t>())
        value = grown(number, old->get<std::int64_t>(), seconds);
    }
  }
  return out;
}

}  // namespace tributary::client
