// Ways up that switches use instead of the topology's first, and the move from one to another.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "config/topology/topology_tree.h"
#include "manager/service/service.h"

namespace tributary::manager {
namespace {

using Json = nlohmann::ordered_json;

std::string parent_in(const config::Topology& topology, const std::string& node) {
  const auto at = config::find_switch(topology, node);
  return at ? topology.switches[*at].parent : "";
}

// Switches that the topology has no more are not waited for.
void forget_gone(const config::Topology& topology, Move& move) {
  for (std::size_t i = 0; i < move.ahead.size();) {
    if (config::find_switch(topology, move.ahead[i])) {
      ++i;
      continue;
    }
    move.ahead.erase(move.ahead.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < move.ready) --move.ready;
  }
}

// The new parent, and the switches that gain jobs: any of them may refuse.
std::vector<std::string> ahead_of(const Move& move, const Admission& admission) {
  std::vector<std::string> ahead = {move.parent};
  for (const auto& [name, job] : admission.jobs())
    for (const auto& [node, need] : job.needs)
      if (node != move.node && !job.needs_before.contains(node) &&
          std::find(ahead.begin(), ahead.end(), node) == ahead.end())
        ahead.push_back(node);
  return ahead;
}

// Whether jobs may pass the switch that it has no part in.
bool relays_jobs(const config::Topology& topology, const Admission& admission,
                 const std::string& node) {
  const auto at = config::find_switch(topology, node);
  const auto& jobs = admission.jobs();
  return at && !topology.switches[*at].aggregate &&
         std::any_of(jobs.begin(), jobs.end(),
                     [](const auto& job) { return job.second.admitted(); });
}

}  // namespace

Service::Uplinks Service::uplinks_in(const std::map<std::string, Entry>& stored) {
  Uplinks uplinks;
  const auto state = stored.find(kState);
  if (state == stored.end()) return uplinks;
  const Json value = Json::parse(state->second.value);
  uplinks.ways = value.value("ways", Ways{});
  const auto move = value.find("move");
  if (move == value.end()) return uplinks;
  uplinks.move = {.node = move->at("switch").get<std::string>(),
                  .from = move->at("from").get<std::string>(),
                  .to = move->at("to").get<std::string>(),
                  .parent = move->at("parent").get<std::string>(),
                  .since = move->at("since").get<std::uint64_t>()};
  // An earlier version tells the parent alone before the switch.
  uplinks.move->ahead = move->value("ahead", std::vector{uplinks.move->parent});
  uplinks.move->ready =
      move->at("opened").get<bool>() ? uplinks.move->ahead.size() : move->value("ready", 0u);
  return uplinks;
}

void Service::add_uplinks(Json& state) const {
  if (!ways_.empty()) state["ways"] = ways_;
  if (move_)
    state["move"] = {
        {"switch", move_->node},   {"from", move_->from},        {"to", move_->to},
        {"parent", move_->parent}, {"opened", move_->is_open()}, {"ahead", move_->ahead},
        {"ready", move_->ready},   {"since", move_->since}};
}

// A topology that was read again may have one of both ways no more: then there is nothing to do.
config::Topology Service::before_move(const config::Topology& topology, std::optional<Move>& move) {
  if (!move) return {};
  try {
    if (way_of(topology, move->node) == move->to &&
        parent_in(topology, move->node) == move->parent) {
      config::Topology before = with_way(topology, move->node, move->from);
      forget_gone(topology, *move);
      return before;
    }
  } catch (const std::invalid_argument&) {
    // Its old way is gone.
  }
  move.reset();
  return {};
}

bool Service::sees_before(const std::string& node) const {
  if (!move_) return false;
  if (node == move_->node) return !move_->is_open();
  if (!open_port_of(node).empty()) return true;
  const auto told = move_->ahead.begin() +
                    static_cast<std::ptrdiff_t>(std::min(move_->ready + 1, move_->ahead.size()));
  return std::find(move_->ahead.begin(), told, node) == told;
}

// The port that a parent with two links to the switch that moves has open beside the old one, by
// which it hears the switch until that has moved.
std::string Service::open_port_of(const std::string& node) const {
  if (!move_ || node != move_->parent || parent_in(before_, move_->node) != node) return "";
  return topology_.switches[*config::find_switch(topology_, move_->node)].parent_port;
}

Ways Service::ways_with(const std::string& node, const std::string& uplink) const {
  Ways ways = ways_;
  if (way_of(setup_.topology, node) == uplink)
    ways.erase(node);
  else
    ways[node] = uplink;
  return ways;
}

// The first job or switch that the present tree has no place or room for, and the one before had.
std::string Service::trouble_since(const Admission& before) const {
  for (const auto& [name, job] : admission_.jobs())
    if (const auto was = before.jobs().find(name);
        !job.described && was != before.jobs().end() && was->second.described)
      return "job " + name + " cannot go that way: " + job.stray;
  for (const config::TopologySwitch& sw : topology_.switches) {
    const std::string& node = sw.config.name;
    const Amount used = admission_.amounts().used_at(node);
    if (used == before.amounts().used_at(node)) continue;
    const std::string lacks = shortage(node, used, {}, admission_.amounts().capacity_at(node));
    if (!lacks.empty()) return "the jobs by that way: " + lacks;
  }
  return "";
}

// The switches of all jobs that the switch carries: each has to be told.
std::set<std::string> Service::needed_for(const Move& move) const {
  std::set<std::string> needed = {move.node, move.parent};
  const auto at = config::find_switch(topology_, move.node);
  const bool sums = at && topology_.switches[*at].aggregate;
  for (const auto& [name, job] : admission_.jobs())
    if (job.admitted() && (!sums || job.needs.contains(move.node)))
      for (const auto& [node, need] : job.needs) needed.insert(node);
  return needed;
}

void Service::use_uplink(const std::string& node, const std::string& uplink,
                         const std::set<std::string>& present, Instant now) {
  if (stale_) load(now);
  const config::Topology next = with_way(topology_, node, uplink);
  // A switch that has gone does not move any more.
  if (move_ && move_->node == node && move_->from == uplink &&
      (!move_->is_open() || !present.contains(node)))
    return give_up_moving(now);
  if (way_of(topology_, node) == uplink) return;
  if (move_)
    throw std::invalid_argument("switch " + move_->node + " is moving to " + move_->to +
                                ", and waits for " + move_->waits_for() +
                                "; allowed: one move at a time");
  Move move{.node = node,
            .from = way_of(topology_, node),
            .to = uplink,
            .parent = parent_in(next, node),
            .ahead = {parent_in(next, node)},
            .since = revision_ + 1};
  const Admission before = admission_;
  go_back_to(stored_, {ways_with(node, uplink), move}, now);
  std::string trouble = move_ ? trouble_since(before) : "the switches would be no tree";
  if (trouble.empty() && relays_jobs(topology_, admission_, node))
    trouble = "it aggregates nothing, so it cannot drain the jobs that pass it";
  for (const std::string& needed : needed_for(move))
    if (trouble.empty() && !present.contains(needed))
      trouble = "no agent speaks for switch " + needed + ", which has to be told";
  if (!trouble.empty()) {
    go_back_to(stored_, now);
    throw std::invalid_argument("switch " + node + " cannot move to " + uplink + ": " + trouble);
  }
  move_->ahead = ahead_of(*move_, admission_);
  ++revision_;
  keep(now, true);
}

void Service::go_on_moving(Instant now) {
  if (!move_) return;
  ++revision_;
  if (move_->is_open()) {
    move_.reset();
    before_ = {};
    admission_.end_move();
  } else {
    ++move_->ready;
    move_->since = revision_;
  }
  keep(now, true);
}

void Service::give_up_moving(Instant now) {
  if (!move_) return;
  go_back_to(stored_, {ways_with(move_->node, move_->from), std::nullopt}, now);
  ++revision_;
  keep(now, true);
}

}  // namespace tributary::manager
