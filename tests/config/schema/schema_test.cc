// The pages under docs/configuration list exactly the keys of the schema, with the code's own
// defaults and limits.
#include "config/schema/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "config/load/load.h"
#include "config/server/server_config.h"
#include "config/topology/topology.h"
#include "tests/source_dir.h"

namespace tributary::config {
namespace {

// Their tables, one after the other, have the schema's order.
constexpr const char* kPages[] = {"configuration.md",
                                  "configuration/switch.md",
                                  "configuration/jobs.md",
                                  "configuration/forwarding.md",
                                  "configuration/constraints.md",
                                  "configuration/trees.md",
                                  "configuration/servers.md"};

std::ifstream open_page(const std::string& page) {
  std::ifstream file(tests::source_dir() + "/docs/" + page);
  EXPECT_TRUE(file.is_open()) << page;
  return file;
}

std::vector<std::string> documented_rows() {
  std::vector<std::string> rows;
  for (const char* page : kPages) {
    std::ifstream file = open_page(page);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("| `")) rows.push_back(line);
  }
  return rows;
}

std::vector<std::string> expected_rows() {
  std::vector<std::string> rows;
  auto keys = describe_schema();
  const auto more = describe_topology_schema();
  keys.insert(keys.end(), more.begin(), more.end());
  const auto servers = describe_server_schema();
  keys.insert(keys.end(), servers.begin(), servers.end());
  for (const KeyInfo& key : keys)
    rows.push_back("| `" + key.path + "` | " + key.type + " | " + key.fallback + " | " +
                   key.allowed + " | " + key.meaning + " |");
  return rows;
}

TEST(Schema, IsWhatTheDocumentationSays) {
  const auto expected = expected_rows();
  const auto documented = documented_rows();
  std::string table;
  for (const auto& row : expected) table += row + '\n';
  EXPECT_EQ(documented, expected) << "the table should read:\n" << table;
}

void expect_accepted(const std::string& block, const std::string& page) {
  if (block.starts_with("server:"))
    EXPECT_NO_THROW((void)parse_server_config(block, page)) << block;
  else if (is_topology(block))
    EXPECT_NO_THROW((void)parse_topology(block, page)) << block;
  else
    EXPECT_NO_THROW((void)parse_switch_config(block, page)) << block;
}

// The examples in the text work as printed.
TEST(Schema, DocumentedFilesAreAccepted) {
  int blocks = 0;
  for (const std::string page : kPages) {
    std::ifstream file = open_page(page);
    std::string block;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      if (inside && line == "```") {
        expect_accepted(block, page);
        ++blocks;
        inside = false;
      } else if (inside) {
        block += line + '\n';
      } else if (line == "```yaml") {
        inside = true;
        block.clear();
      }
    }
  }
  EXPECT_GE(blocks, 7);
}

TEST(Schema, EveryKeyIsExplained) {
  const auto keys = describe_schema();
  EXPECT_GE(keys.size(), 30u);
  for (const KeyInfo& key : keys) {
    EXPECT_TRUE(key.meaning.ends_with('.')) << key.path;
    EXPECT_FALSE(key.allowed.empty()) << key.path;
    EXPECT_EQ((key.meaning + key.allowed).find('|'), std::string::npos) << key.path;
  }
}

}  // namespace
}  // namespace tributary::config
