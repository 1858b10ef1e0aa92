#include "tools/agentd/local_switch.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "config/load/load.h"
#include "config/text/codec.h"
#include "manager/admission/amount.h"
#include "tools/program/output_file.h"

namespace tributary::agentd {
namespace {

using client::ControlError;
using client::Json;

// The client's prefix for an error that the switch itself answered.
constexpr std::string_view kRefused = "tributary-switchd refused: ";

std::uint64_t number(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

double milliseconds(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_number() ? at->get<double>() : 0;
}

std::string word(const Json& row, const char* key) {
  const auto at = row.find(key);
  return at != row.end() && at->is_string() ? at->get<std::string>() : "";
}

// A row of `show stragglers`.
manager::Lateness lateness_of(const Json& row) {
  manager::Lateness child;
  child.job = static_cast<std::uint32_t>(number(row, "job"));
  if (const auto ranks = row.find("ranks"); ranks != row.end() && ranks->is_array())
    for (const Json& rank : *ranks)
      if (rank.is_number_unsigned()) child.ranks.push_back(rank.get<std::uint32_t>());
  child.is_switch = word(row, "node").starts_with("switch ");
  child.ops = static_cast<std::uint32_t>(number(row, "ops"));
  child.mean_ms = milliseconds(row, "mean_ms");
  child.max_ms = milliseconds(row, "max_ms");
  child.last_ms = milliseconds(row, "last_ms");
  child.missed_deadlines = number(row, "missed_deadlines");
  child.excluded = word(row, "excluded");
  // Null where the switch has counted nothing.
  const auto count = [&](const char* key) -> std::optional<std::uint32_t> {
    const auto at = row.find(key);
    if (at == row.end() || !at->is_number_unsigned()) return std::nullopt;
    return at->get<std::uint32_t>();
  };
  child.first = count("first");
  child.last = count("last");
  return child;
}

std::string text_of(const config::Version& version) {
  return "term " + std::to_string(version.term) + ", revision " + std::to_string(version.revision);
}

}  // namespace

manager::SwitchRegistration LocalSwitch::look() {
  const Json shown = ask_({{"command", "show"}, {"what", "config"}});
  manager::SwitchRegistration registration;
  try {
    const auto config =
        config::parse_switch_config(shown.is_string() ? shown.get<std::string>() : "", "switch");
    registration.name = config.name;
    registration.id = config.id;
    registration.address = config::format_ipv4(config.ipv4);
    for (const auto& port : config.ports) registration.ports.push_back(port.name);
    const manager::Amount capacity = manager::capacity_of(config);
    registration.slots = capacity.slots;
    registration.bytes = capacity.bytes;
  } catch (const config::ConfigErrors& errors) {
    throw ControlError(std::string("the switch's configuration is of another version: ") +
                       errors.what());
  }
  registration.program = TRIBUTARY_VERSION;
  name_ = registration.name;
  told_hosts_.clear();
  passed_.reset();
  return registration;
}

void LocalSwitch::desire(Desired document) {
  const std::lock_guard lock(mutex_);
  if (!desired_ || document.version >= desired_->version) desired_ = std::move(document);
}

LocalSwitch::InForce LocalSwitch::in_force() {
  const Json rows = ask_({{"command", "show"}, {"what", "assigned"}});
  if (!rows.is_array() || rows.empty()) return {};
  const auto kept = rows[0].find("kept");
  return {.version = {number(rows[0], "term"), number(rows[0], "revision")},
          .kept = kept == rows[0].end() || *kept != false};
}

void LocalSwitch::apply(const Desired& document, manager::SwitchReport& report) {
  try {
    const std::string file = folder_ + "/" + name_ + ".yaml";
    tools::write_file(file, document.text);
    ask_({{"command", "assign"}, {"file", file}});
  } catch (const ControlError& error) {
    const std::string text = error.what();
    if (!text.starts_with(kRefused)) throw;
    report.problem = text.substr(kRefused.size());
    // One that is busy is asked again; the others have no room, or say what is wrong.
    report.refused = !report.problem.starts_with("busy");
    report.refused_revision = document.version.revision;
  } catch (const std::runtime_error& error) {
    report.problem = error.what();
  }
}

std::vector<manager::Lateness> LocalSwitch::lateness() {
  std::vector<manager::Lateness> children;
  for (const Json& row : ask_({{"command", "show"}, {"what", "stragglers"}}))
    children.push_back(lateness_of(row));
  return children;
}

// Empty: it is done.
std::string LocalSwitch::rule(const char* command, std::uint32_t job, std::uint32_t rank) {
  return refusal_of({{"command", command}, {"job", job}, {"rank", rank}});
}

std::string LocalSwitch::refusal_of(const Json& request) {
  try {
    ask_(request);
    return "";
  } catch (const ControlError& error) {
    const std::string text = error.what();
    if (!text.starts_with(kRefused)) throw;
    return request["command"].get<std::string>() + ": " + text.substr(kRefused.size());
  }
}

std::vector<manager::HostSeat> LocalSwitch::seats() {
  std::vector<manager::HostSeat> all;
  for (const Json& row : ask_({{"command", "show"}, {"what", "hosts"}}))
    all.push_back({.job = static_cast<std::uint32_t>(number(row, "job")),
                   .shard = static_cast<std::uint32_t>(number(row, "shard")),
                   .host = word(row, "host"),
                   .state = word(row, "state"),
                   .chosen = word(row, "chosen")});
  return all;
}

std::vector<manager::Neighbour> LocalSwitch::neighbours() {
  std::vector<manager::Neighbour> all;
  for (const Json& row : ask_({{"command", "show"}, {"what", "lldp"}}))
    all.push_back({word(row, "port"), word(row, "system"), word(row, "its_port")});
  return all;
}

// Bytes per second since the look before; absent in between, at the first one, and where counters
// began anew.
std::optional<std::uint64_t> LocalSwitch::load() {
  Passed now{0, now_()};
  if (passed_ && now.at - passed_->at < kBetweenLoads) return std::nullopt;
  for (const Json& row : ask_({{"command", "show"}, {"what", "ports"}}))
    now.bytes += number(row, "rx_bytes") + number(row, "tx_bytes");
  const std::optional<Passed> before = std::exchange(passed_, now);
  if (!before || now.bytes < before->bytes || now.at <= before->at) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<double>(now.bytes - before->bytes) /
                                    (now.at - before->at).to_seconds());
}

// Level-triggered: the switch is told once, and again where it has chosen a host by itself.
std::string LocalSwitch::rank_hosts(const Desired& document,
                                    const std::vector<manager::HostSeat>& there) {
  std::string told;
  std::set<std::uint32_t> done;
  for (const manager::HostSeat& seat : there) {
    const auto order = document.hosts.find(seat.job);
    if (order == document.hosts.end() || done.contains(seat.job)) continue;
    const auto before = told_hosts_.find(seat.job);
    const bool same = before != told_hosts_.end() && before->second == order->second;
    if (same && seat.chosen != "policy") continue;
    done.insert(seat.job);
    const std::string problem = refusal_of({{"command", "place-host"},
                                            {"job", seat.job},
                                            {"loads", order->second.loads},
                                            {"candidates", order->second.candidates}});
    if (problem.empty()) told_hosts_[seat.job] = order->second;
    if (told.empty()) told = problem;
  }
  return told;
}

// Level-triggered: what the switch has is brought to what the manager wants, again if need be.
// Says what the switch refused; empty: nothing.
std::string LocalSwitch::exclude(const Desired& document,
                                 const std::vector<manager::Lateness>& children) {
  std::string told;
  std::set<std::pair<std::uint32_t, std::uint32_t>> ruled;  // a rank has a row for each plane
  for (const manager::Lateness& child : children) {
    const auto job = document.exclusions.find(child.job);
    if (job == document.exclusions.end() || child.is_switch || child.ranks.size() != 1) continue;
    const bool wanted = job->second.contains(child.ranks[0]);
    if (wanted == manager::is_excluded(child)) continue;
    if (!ruled.emplace(child.job, child.ranks[0]).second) continue;
    const std::string problem = rule(wanted ? "exclude" : "reinstate", child.job, child.ranks[0]);
    if (told.empty()) told = problem;
  }
  return told;
}

manager::SwitchReport LocalSwitch::step() {
  manager::SwitchReport report;
  std::optional<Desired> desired;
  {
    const std::lock_guard lock(mutex_);
    desired = desired_;
  }
  report.applied = in_force().applied();
  if (desired && desired->version > report.applied) {
    apply(*desired, report);
    const InForce now = in_force();
    report.applied = now.applied();
    // It holds, though something of it may not be so yet, or a restart would not know it.
    if (now.version >= desired->version) report.refused = false;
  } else if (desired && report.applied > desired->version) {
    report.problem = "has a document of " + text_of(report.applied) +
                     ", and this manager's is of " + text_of(desired->version);
  }
  for (const Json& row : ask_({{"command", "show"}, {"what", "jobs"}})) {
    std::uint32_t& present = report.jobs[static_cast<std::uint32_t>(number(row, "job"))];
    present = std::max(present, static_cast<std::uint32_t>(number(row, "present")));
  }
  if (report.jobs.empty()) {
    report.lateness.emplace();
    report.seats.emplace();
  } else if (steps_++ % kStepsPerLook == 0) {
    report.lateness = lateness();
    report.seats = seats();
  }
  report.load = load();
  if (looks_++ % kStepsPerLook == 0) report.neighbours = neighbours();
  // Not for a manager that another one has followed.
  if (desired && report.applied <= desired->version) {
    if (report.lateness) exclusion_problem_ = exclude(*desired, *report.lateness);
    if (report.seats) ranking_problem_ = rank_hosts(*desired, *report.seats);
    if (report.problem.empty()) report.problem = exclusion_problem_;
    if (report.problem.empty()) report.problem = ranking_problem_;
  }
  return report;
}

}  // namespace tributary::agentd
