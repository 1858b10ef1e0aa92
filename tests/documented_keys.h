// The table of keys on a page of docs/, compared with the code that loads the file.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "config/text/field.h"
#include "tests/source_dir.h"

namespace tributary::tests {

// The page's only table of keys has exactly `keys`. Returns its YAML block.
inline std::string expect_documented(const std::vector<config::KeyInfo>& keys,
                                     const std::string& page) {
  std::vector<std::string> expected;
  std::string table;
  for (const config::KeyInfo& key : keys) {
    EXPECT_TRUE(key.meaning.ends_with('.')) << key.path;
    EXPECT_EQ((key.meaning + key.allowed).find('|'), std::string::npos) << key.path;
    expected.push_back("| `" + key.path + "` | " + key.type + " | " + key.fallback + " | " +
                       key.allowed + " | " + key.meaning + " |");
    table += expected.back() + '\n';
  }
  std::ifstream file(source_dir() + "/docs/" + page);
  EXPECT_TRUE(file.is_open()) << page;
  std::vector<std::string> documented;
  std::string example;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) documented.push_back(line);
    if (line.starts_with("```"))
      inside = line == "```yaml";
    else if (inside)
      example += line + '\n';
  }
  EXPECT_EQ(documented, expected) << "the table should read:\n" << table;
  return example;
}

}  // namespace tributary::tests
