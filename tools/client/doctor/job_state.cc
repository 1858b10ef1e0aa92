#include "tools/client/doctor/job_state.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/client/doctor/rows.h"

namespace tributary::client {
namespace {

using enum Finding::Level;

// As in the switch's events (control/events/late_children.h): late by so much on average, and by so
// many times what the job's earliest fifth is.
constexpr double kLeastMs = 5;
constexpr double kTimes = 4;
constexpr double kLeastOps = 8;

using Key = std::pair<std::string, std::string>;  // job and plane

Key key_of(const Json& row) {
  return {text_of(row, "job"), text_of(row, "plane")};
}

std::string subject_of(const Key& key) {
  const bool one_plane = key.second.empty() || key.second == "0";
  return "job " + key.first + (one_plane ? "" : ", plane " + key.second);
}

bool is_in(const Json& jobs, const Key& key, std::string_view state) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const Json& job) {
    return key_of(job) == key && text_of(job, "state") == state;
  });
}

std::string milliseconds(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", ms);
  return text.data();
}

double earliest_fifth(const Json& stragglers, const Key& key) {
  std::vector<double> means;
  for (const Json& row : stragglers)
    if (key_of(row) == key && number_of(row, "ops") >= kLeastOps)
      means.push_back(number_of(row, "mean_ms"));
  std::sort(means.begin(), means.end());
  return means.empty() ? 0 : means[(means.size() - 1) / 5];
}

// "2, 5"
std::string list_of(const Json& row, const char* key) {
  const auto at = row.find(key);
  if (at == row.end() || !at->is_array()) return "";
  std::string list;
  for (const Json& one : *at) list += (list.empty() ? "" : ", ") + one.dump();
  return list;
}

Finding silent_switch(const Key& key, const Json& row) {
  const std::string node = text_of(row, "node");
  return {warning, subject_of(key),
          "others wait for " + node +
              ", which is silent: it is not running, it is cut off, or no "
              "rank below it (" +
              list_of(row, "ranks") + ") has started",
          "at that switch: systemctl status, tributary show tree; at those ranks: tributary doctor "
          "--address of that switch"};
}

Finding waiting_switch(const Key& key, const Json& row) {
  const std::string node = text_of(row, "node");
  return {warning, subject_of(key),
          node + " answers, and waits for ranks below it (" + list_of(row, "ranks") + ")",
          "tributary doctor at that switch names them"};
}

// The switch above, which has not said yet that an epoch begins.
Finding silent_parent(const Key& key, const Json& row) {
  const std::string refused = text_of(row, "refused");
  if (!refused.empty())
    return {error, subject_of(key),
            text_of(row, "node") + ", the switch above, refuses: " + refused,
            "tributary reload on both, from files that agree"};
  return {warning, subject_of(key),
          "all ranks below are here; " + text_of(row, "node") +
              ", the switch above, has not begun an epoch",
          "is it running, and its link up (port " + text_of(row, "port") +
              ")? tributary doctor there says for whom it waits"};
}

}  // namespace

Findings judge_stragglers(const Json& stragglers, const Json& jobs) {
  Findings found;
  for (const Json& row : stragglers) {
    const Key key = key_of(row);
    const double mean = number_of(row, "mean_ms");
    const bool counts = number_of(row, "ops") >= kLeastOps && text_of(row, "excluded").empty();
    if (!counts || mean < kLeastMs || number_of(row, "last_ms") < kLeastMs ||
        mean <= kTimes * earliest_fifth(stragglers, key) || !is_in(jobs, key, "running"))
      continue;
    const std::string port = text_of(row, "port");
    found.push_back({warning, subject_of(key),
                     text_of(row, "node") + " is late in every op: " + milliseconds(mean) +
                         " behind the first on average, through port " +
                         (port.empty() ? "unknown" : port),
                     "look at the load of its host and at that link; tributary show stragglers " +
                         key.first + " has all ranks, tributary exclude leaves one out"});
  }
  return found;
}

Findings judge_tree(const Json& tree, const Json& jobs) {
  Findings found;
  for (const Json& row : tree) {
    const Key key = key_of(row);
    if (!is_in(jobs, key, "forming")) continue;
    const std::string is = text_of(row, "is");
    const std::string state = text_of(row, "state");
    if (is == "switch" && state == "absent") found.push_back(silent_switch(key, row));
    if (is == "switch" && state == "waiting") found.push_back(waiting_switch(key, row));
    if (is == "parent" && (state == "joining" || !text_of(row, "refused").empty()))
      found.push_back(silent_parent(key, row));
  }
  return found;
}

}  // namespace tributary::client
