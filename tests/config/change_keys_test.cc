// The table of keys that may change while a switch runs (docs/operating/reload.md) is true: what it
// lists is taken by config/change/change.h, and nothing else is.
//
// Of each key of the schema, values that differ from what a file says are tried in it, until one
// makes sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/change/change.h"
#include "config/change/override.h"
#include "config/schema/schema.h"
#include "config/text/error.h"
#include "tests/source_dir.h"

namespace tributary::config {
namespace {

constexpr const char* kFile =
    "switch:\n"
    "  address: 10.77.0.254\n"
    "  preempt_idle: 1ms\n"
    "  completion: {hosts: [{name: ps1, address: 10.77.0.100, port: b}]}\n"
    "  telemetry: {ports: [{port: a}]}\n"
    "  routes: [{to: 10.78.0.0/16, via: 10.77.0.1, port: b}]\n"
    "ports:\n"
    "  - {name: spare, devargs: net_null2, vlan: {mode: trunk}}\n"
    "  - {name: a, devargs: net_null0}\n"
    "  - {name: b, devargs: net_null1}\n"
    "jobs:\n"
    "  - id: 1\n"
    "    workers: 2\n"
    "    slots: dynamic\n"
    "    members: [{rank: 0, port: a}, {rank: 1, port: b}]\n"
    "    reductions: [int32 sum]\n"
    "    stragglers: {exclude: largest}\n"
    "forwarding:\n"
    "  static_macs: [{mac: \"02:00:00:00:00:01\", port: a}]\n"
    "  snooping: {enabled: true}\n"
    "  lldp: {enabled: true}\n"
    "acl: {rules: [{action: deny, port: a}]}\n";

// What needs several lcores.
constexpr const char* kSeveralLcores =
    "switch: {address: 10.77.0.254, lcores: [-1, -1]}\n"
    "ports: [{name: a, devargs: net_null0}]\n"
    "jobs: [{id: 1, workers: 2, planes: 2, lcores: [0, 1]}]\n";

// First of the rows "| `key` | ..." of that section.
std::vector<std::string> documented_keys() {
  std::ifstream file(tests::source_dir() + "/docs/operating/reload.md");
  std::vector<std::string> keys;
  bool there = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) there = line == "## What may change while it runs";
    if (!there || !line.starts_with("| `")) continue;
    // A cell may name several.
    const std::string cell = line.substr(0, line.find(" | "));
    for (std::size_t at = cell.find('`'); at != std::string::npos; at = cell.find('`', at)) {
      const std::size_t end = cell.find('`', at + 1);
      keys.push_back(cell.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return keys;
}

const std::string* documented(const std::vector<std::string>& keys, const std::string& path) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const std::string& key) {
    return path == key ||
           (path.starts_with(key) && (path[key.size()] == '.' || path[key.size()] == '['));
  });
  return found == keys.end() ? nullptr : &*found;
}

// Something that the key might say.
std::vector<std::string> guesses(const KeyInfo& key) {
  std::vector<std::string> out = {"3",
                                  "2",
                                  "64",
                                  "1024",
                                  "3000",
                                  "5s",
                                  "2s",
                                  "300ms",
                                  "7us",
                                  "1ms",
                                  "true",
                                  "false",
                                  "a",
                                  "b",
                                  "ps1",
                                  "[7]",
                                  "[1]",
                                  "[a]",
                                  "0.5",
                                  "100",
                                  "8",
                                  "x",
                                  "10.77.0.99",
                                  "10.77.0.0/16",
                                  "10.79.0.0/16",
                                  "127.0.0.1:9",
                                  "net_null7",
                                  "/tmp/x",
                                  "02:00:00:00:00:07",
                                  "[float32 sum]",
                                  "[10.78.9.0/24]",
                                  "5-6",
                                  "[ps1]"};
  if (key.type != "choice") return out;
  std::string words = key.allowed;
  for (std::size_t end = 0; (end = words.find(", ")) != std::string::npos;) {
    out.push_back(words.substr(0, end));
    words.erase(0, end + 2);
  }
  out.push_back(words);
  return out;
}

std::string first_elements(std::string path) {
  for (std::size_t at = 0; (at = path.find("[]", at)) != std::string::npos;)
    path.replace(at, 2, "[0]");
  return path;
}

enum class Outcome { no_sense, taken, refused };

Outcome try_value(const Document& document, const Place& place, const std::string& text) {
  const SwitchConfig running = switch_config(document);
  Document next = document;
  put_value(next, place, parse_value(place.path, text));
  try {
    const SwitchConfig config = switch_config(next);
    return difference(running, config, {1 << 20, 1 << 20}).empty() ? Outcome::no_sense
                                                                   : Outcome::taken;
  } catch (const ConfigErrors&) {
    return Outcome::no_sense;
  } catch (const std::invalid_argument&) {
    return Outcome::refused;
  }
}

// In the first of them where a guess makes sense; nullopt: the key holds others, or names an
// element.
std::optional<Outcome> outcome_in(std::span<const Document> documents, const KeyInfo& key) {
  std::optional<Outcome> outcome;
  for (const Document& document : documents) {
    Place place;
    try {
      place = find_place(document, first_elements(key.path));
    } catch (const std::invalid_argument&) {
      continue;
    }
    for (const std::string& guess : guesses(key))
      if (outcome.value_or(Outcome::no_sense) == Outcome::no_sense)
        outcome = try_value(document, place, guess);
  }
  return outcome;
}

TEST(RunTimeKeys, TheTableOfTheOperatorsHandbookIsTrue) {
  const Document documents[] = {parse_document(kFile, "f.yaml", ""),
                                parse_document(kSeveralLcores, "f.yaml", "")};
  const std::vector<std::string> keys = documented_keys();
  ASSERT_GT(keys.size(), 8u);
  std::set<std::string> proven;
  std::vector<std::string> untried;
  for (const KeyInfo& key : describe_schema()) {
    const auto outcome = outcome_in(documents, key);
    if (!outcome) continue;
    const std::string* const row = documented(keys, key.path);
    if (*outcome == Outcome::no_sense) untried.push_back(key.path);
    if (*outcome == Outcome::taken) {
      EXPECT_NE(row, nullptr) << key.path << " may change, and is not in the table";
      if (row != nullptr) proven.insert(*row);
    }
    // The service of a host elsewhere begins and ends with a restart only.
    if (*outcome == Outcome::refused && key.path != "jobs[].completion_hosts") {
      EXPECT_EQ(row, nullptr) << key.path << " is in the table, and only a restart changes it";
    }
  }
  // It says which port is meant, so no value can be tried in its place; change_test has it.
  proven.insert("ports[].name");
  EXPECT_THAT(proven, testing::UnorderedElementsAreArray(keys));
  // These are of no use without other keys.
  EXPECT_THAT(
      untried,
      testing::UnorderedElementsAre(
          "switch.telemetry.node_id", "switch.telemetry.report_to", "switch.telemetry.key_file",
          "switch.telemetry.ioam.ports", "ports[].vlan.id", "jobs[].rdma", "jobs[].lcore",
          "jobs[].planes", "jobs[].lcores", "jobs[].bracketing", "jobs[].release", "jobs[].notify",
          "jobs[].stragglers.degraded_after", "jobs[].names.enabled", "jobs[].names.readers",
          "acl.rules[].ether_type", "acl.rules[].source_ports", "acl.rules[].destination_ports",
          "acl.rules[].watch"));
}

}  // namespace
}  // namespace tributary::config
