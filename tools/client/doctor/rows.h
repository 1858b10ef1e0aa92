// Cells of a switch's rows (`tributary show`) as texts and numbers; what is absent is empty, or 0.
#pragma once

#include <string>
#include <string_view>

#include "tools/client/control/table.h"

namespace tributary::client {

inline std::string text_of(const Json& row, std::string_view key) {
  const auto at = row.find(key);
  if (at == row.end() || at->is_null()) return "";
  return harmless(at->is_string() ? at->get<std::string>() : at->dump());
}

inline double number_of(const Json& row, std::string_view key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number() ? at->get<double>() : 0;
}

}  // namespace tributary::client
