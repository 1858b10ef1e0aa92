#include "tools/client/doctor/switch_state.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tools/client/doctor/rows.h"

namespace tributary::client {
namespace {

using enum Finding::Level;

// A drop longer ago says nothing of what is wrong now.
constexpr double kFreshSeconds = 60;

struct Hint {
  std::string_view reason;
  std::string_view remedy;
};
constexpr std::array kHints = {
    Hint{"checksum", "on the sender: ethtool -K IFACE tx off"},
    Hint{"checksum-offloaded", "on the sender: ethtool -K IFACE tx off"},
    Hint{"mtu-exceeded",
         "raise the mtu of the port and of its interface, or: ethtool -K IFACE gro off"},
    Hint{"unknown-job", "workers ask for a job that the switch's file does not have"},
    Hint{"sender-mismatch", "two workers have one rank, or one moved before its lease was over"},
};

// "2, 5": ranks of a job that have not joined; switches of the tree are not among them.
std::string missing_ranks(const Json& tree, const std::string& job) {
  std::string ranks;
  for (const Json& row : tree)
    if (text_of(row, "job") == job && text_of(row, "is") == "worker" &&
        text_of(row, "state") == "absent")
      for (const Json& rank : row.value("ranks", Json::array()))
        ranks += (ranks.empty() ? "" : ", ") + rank.dump();
  return ranks;
}

// If multicast is lost on the way to a rank, it asks for each result, and each is sent again.
bool sends_all_again(const Json& job) {
  constexpr double kEnough = 16;
  return number_of(job, "completions") >= kEnough &&
         number_of(job, "results_resent") >= number_of(job, "completions");
}

}  // namespace

Findings judge_ports(const Json& ports) {
  Findings found;
  std::size_t listening = 0;
  for (const Json& row : ports) {
    const std::string subject = "port " + text_of(row, "port");
    if (text_of(row, "link") == "listening") ++listening;
    const std::string note = text_of(row, "note");
    if (text_of(row, "link") == "down")
      found.push_back({error, subject, "link is down" + (note.empty() ? "" : ": " + note),
                       "check its interface or peer: " + text_of(row, "device")});
    else if (!note.empty())
      found.push_back({warning, subject, note, ""});
  }
  if (found.empty() && !ports.empty())
    found.push_back({ok, "ports",
                     listening == 0
                         ? "all links are up"
                         : std::to_string(listening) + " of " + std::to_string(ports.size()) +
                               " wait for a peer, the other links are up",
                     ""});
  return found;
}

Findings judge_jobs(const Json& jobs, const Json& tree) {
  Findings found;
  for (const Json& row : jobs) {
    const std::string job = text_of(row, "job");
    std::string subject = "job " + job;
    if (const std::string plane = text_of(row, "plane"); !plane.empty() && plane != "0")
      subject += ", plane " + plane;
    const std::string state = text_of(row, "state");
    if (state == "running") {
      found.push_back({ok, subject, "runs with " + text_of(row, "present") + " workers", ""});
      if (sends_all_again(row))
        found.push_back({warning, subject, "some rank asks for every result",
                         "multicast does not reach its host: look for a firewall, NAT, or IGMP "
                         "snooping without a querier on the way"});
      continue;
    }
    const std::string missing = missing_ranks(tree, job);
    found.push_back(
        {warning, subject,
         "is " + state + (missing.empty() ? "" : "; ranks that have not joined here: " + missing),
         missing.empty() ? "" : "run tributary doctor --address ... on their hosts"});
  }
  return found;
}

Findings judge_drops(const Json& drops) {
  Findings found;
  for (const Json& row : drops) {
    const std::string reason = text_of(row, "reason");
    const auto hint = std::find_if(kHints.begin(), kHints.end(),
                                   [&](const Hint& h) { return h.reason == reason; });
    // An earlier switch has no ages.
    const double age = number_of(row, "last_ago_s");
    if (hint == kHints.end() || age >= kFreshSeconds) continue;
    std::string state = text_of(row, "packets") + " packets dropped as " + reason;
    if (row.contains("last_ago_s"))
      state += ", the last " + std::to_string(static_cast<int>(age)) + " s ago";
    found.push_back({warning, "port " + text_of(row, "port"), state, std::string(hint->remedy)});
  }
  return found;
}

Findings judge_neighbours(const Json& neighbours) {
  Findings found;
  for (const Json& row : neighbours)
    if (text_of(row, "state") == "asking")
      found.push_back({error, "router " + text_of(row, "address"),
                       "does not answer ARP on port " + text_of(row, "port") +
                           ": nothing gets to the ranks behind it",
                       "is it the right one (routes in the switch's file)? Is it up, and in the "
                       "VLAN of that port?"});
  return found;
}

}  // namespace tributary::client
