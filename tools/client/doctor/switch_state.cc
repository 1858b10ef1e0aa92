#include "tools/client/doctor/switch_state.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace tributary::client {
namespace {

using enum Finding::Level;

std::string text(const Json& row, const char* key) {
  const auto at = row.find(key);
  if (at == row.end() || at->is_null()) return "";
  return at->is_string() ? at->get<std::string>() : at->dump();
}

struct Hint {
  std::string_view reason;
  std::string_view remedy;
};
constexpr std::array kHints = {
    Hint{"checksum", "on the sender: ethtool -K IFACE tx off"},
    Hint{"mtu-exceeded",
         "raise the mtu of the port and of its interface, or: ethtool -K IFACE gro off"},
    Hint{"unknown-job", "workers ask for a job that the switch's file does not have"},
    Hint{"sender-mismatch", "two workers have one rank, or one moved before its lease was over"},
};

// "2, 5": ranks of a job that have not joined.
std::string missing_ranks(const Json& members, const std::string& job) {
  std::string ranks;
  for (const Json& row : members)
    if (text(row, "job") == job && text(row, "present") == "false")
      ranks += (ranks.empty() ? "" : ", ") + text(row, "rank");
  return ranks;
}

double number(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number() ? at->get<double>() : 0;
}

// If multicast is lost on the way to a rank, it asks for each result, and each is sent again.
bool sends_all_again(const Json& job) {
  constexpr double kEnough = 16;
  return number(job, "completions") >= kEnough &&
         number(job, "results_resent") >= number(job, "completions");
}

}  // namespace

Findings judge_ports(const Json& ports) {
  Findings found;
  std::size_t listening = 0;
  for (const Json& row : ports) {
    const std::string subject = "port " + text(row, "port");
    if (text(row, "link") == "listening") ++listening;
    const std::string note = text(row, "note");
    if (text(row, "link") == "down")
      found.push_back({error, subject, "link is down" + (note.empty() ? "" : ": " + note),
                       "check its interface or peer: " + text(row, "device")});
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

Findings judge_jobs(const Json& jobs, const Json& members) {
  Findings found;
  for (const Json& row : jobs) {
    const std::string job = text(row, "job");
    std::string subject = "job " + job;
    if (const std::string plane = text(row, "plane"); !plane.empty() && plane != "0")
      subject += ", plane " + plane;
    const std::string state = text(row, "state");
    if (state == "running") {
      found.push_back({ok, subject, "runs with " + text(row, "present") + " workers", ""});
      if (sends_all_again(row))
        found.push_back({warning, subject, "some rank asks for every result",
                         "multicast does not reach its host: look for a firewall, NAT, or IGMP "
                         "snooping without a querier on the way"});
      continue;
    }
    const std::string missing = missing_ranks(members, job);
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
    const std::string reason = text(row, "reason");
    const auto hint = std::find_if(kHints.begin(), kHints.end(),
                                   [&](const Hint& h) { return h.reason == reason; });
    if (hint != kHints.end())
      found.push_back({warning, "port " + text(row, "port"),
                       text(row, "packets") + " packets dropped as " + reason,
                       std::string(hint->remedy)});
  }
  return found;
}

}  // namespace tributary::client
