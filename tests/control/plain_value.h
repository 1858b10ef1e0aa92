// Cells of a table, as programs read them: a number is a number, an absent value is null, and a
// list has cells.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tributary::control {

inline void expect_plain(const nlohmann::ordered_json& value, const std::string& where) {
  if (value.is_array()) {
    for (const auto& item : value) expect_plain(item, where);
    return;
  }
  ASSERT_TRUE(value.is_primitive()) << where;
  if (!value.is_string()) return;
  const auto text = value.get<std::string>();
  EXPECT_NE(text, "-") << where;
  EXPECT_NE(text, "") << where;
  EXPECT_NE(text.find_first_not_of("0123456789."), std::string::npos) << where << ": " << text;
}

inline std::vector<std::string> columns(const nlohmann::ordered_json& row) {
  std::vector<std::string> names;
  for (const auto& [name, value] : row.items()) names.push_back(name);
  return names;
}

}  // namespace tributary::control
