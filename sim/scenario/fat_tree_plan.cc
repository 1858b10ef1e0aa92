// The plan of a generated tree, which may have thousands of switches and tens of thousands of
// workers.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "config/topology/topology_tree.h"
#include "core/prng.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

// Names of the ports that lead down.
struct Cables {
  std::vector<std::string> to_switch;  // by place, at the switch above
  std::vector<std::string> to_worker;
};

// One job's part of a tree.
class JobPlan {
 public:
  JobPlan(NetworkPlan& plan, const Cables& cables, const JobScenario& job, std::uint32_t first)
      : plan_(plan),
        config_(job_config(job)),
        ranks_(plan.switches.size()),
        children_(plan.switches.size()),
        below_(plan.switches.size()) {
    place_workers(cables, first);
    place_switches(cables);
    for (auto& children : children_)
      std::sort(children.begin(), children.end(),
                [](const auto& a, const auto& b) { return a.ranks.front() < b.ranks.front(); });
  }

  void configure() {
    // Children come after their parents.
    for (std::size_t place = plan_.switches.size(); place-- > 0;) {
      if (ranks_[place].empty()) continue;
      config::JobConfig config = config_;
      if (below_[place]) config.deadline = config::deadline_above(*below_[place], config_.deadline);
      for (const config::ChildConfig& child : children_[place])
        if (!child.is_switch) config.members.push_back({child.id, child.port});
      config.children = children_[place];
      if (place != top_) {
        const std::size_t above = *plan_.switches[place].above;
        below_[above] = std::max(below_[above].value_or(Duration()), config.deadline);
        config.parent = parent_of(place, above);
      }
      plan_.switches[place].config.jobs.push_back(std::move(config));
    }
  }

 private:
  void place_workers(const Cables& cables, std::uint32_t first) {
    for (std::uint32_t rank = 0; rank < config_.workers; ++rank) {
      const std::size_t home = plan_.workers[first + rank].serving;
      children_[home].push_back({false, rank, 0, cables.to_worker[first + rank], {rank}});
      for (std::optional<std::size_t> at = home; at; at = plan_.switches[*at].above)
        ranks_[*at].push_back(rank);
    }
    // The lowest switch that has all of them below.
    top_ = plan_.workers[first].serving;
    while (ranks_[top_].size() < config_.workers) top_ = *plan_.switches[top_].above;
    for (auto over = plan_.switches[top_].above; over; over = plan_.switches[*over].above)
      ranks_[*over].clear();
  }
  void place_switches(const Cables& cables) {
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      if (place == top_ || ranks_[place].empty()) continue;
      const config::SwitchConfig& config = plan_.switches[place].config;
      children_[*plan_.switches[place].above].push_back(
          {true, config.id, config.ipv4, cables.to_switch[place], ranks_[place]});
    }
  }
  config::ParentConfig parent_of(std::size_t place, std::size_t above) const {
    const config::SwitchConfig& own = plan_.switches[place].config;
    const config::SwitchConfig& up = plan_.switches[above].config;
    const auto& siblings = children_[above];
    const auto self = std::find_if(siblings.begin(), siblings.end(),
                                   [&](const auto& c) { return c.is_switch && c.id == own.id; });
    return {up.name,
            up.id,
            up.ipv4,
            config::derived_mac(up.ipv4),
            own.ports.front().name,
            static_cast<std::uint16_t>(self - siblings.begin()),
            static_cast<std::uint16_t>(siblings.size())};
  }

  NetworkPlan& plan_;
  const config::JobConfig config_;
  std::size_t top_ = 0;
  std::vector<std::vector<std::uint32_t>> ranks_;           // by place; empty: no part in it
  std::vector<std::vector<config::ChildConfig>> children_;  // by place
  std::vector<std::optional<Duration>> below_;              // longest deadline of children
};

// For the completion engine, at the switch where the job ends.
void declare_order(NetworkPlan& plan, std::uint32_t id) {
  const config::Bracket order = expression_of(plan, id);
  for (NetworkPlan::Switch& sw : plan.switches)
    for (config::JobConfig& job : sw.config.jobs)
      if (job.id == id && !job.parent) job.bracketing = order;
}

}  // namespace

NetworkPlan plan_fat_tree(const Scenario& s) {
  const std::vector<TreeSwitch> tree = generate(s.fat_tree, worker_count(s));
  NetworkPlan plan;
  Cables cables;
  plan.aggregators = tree.size();
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    places.emplace(tree[i].name, i);
    plan.switches.push_back({tree[i].name, tree_switch_config(s, i), std::nullopt});
    plan.switches[i].config.name = tree[i].name;
    cables.to_switch.emplace_back();
    if (i == 0) continue;
    const std::size_t above = places.at(tree[i].parent);
    plan.switches[i].above = above;
    cables.to_switch[i] = add_port(plan.switches[above].config, s);
    add_port(plan.switches[i].config, s);
  }
  for (const std::size_t home : homes_of(tree, worker_count(s))) {
    cables.to_worker.push_back(add_port(plan.switches[home].config, s));
    plan.workers.push_back({home, home});
  }
  plan.attacked = Prng(s.seed).below(static_cast<std::uint32_t>(tree.size()));
  if (s.hostile.packets > 0) add_port(plan.switches[plan.attacked].config, s);
  // Nothing is forwarded between the levels: a switch learns its neighbours.
  for (NetworkPlan::Switch& sw : plan.switches)
    sw.config.forwarding.fdb_entries = static_cast<std::uint32_t>(
        std::bit_ceil(std::max<std::size_t>(64, 4 * sw.config.ports.size())));
  std::uint32_t first = 0;
  for (const JobScenario& job : s.jobs) {
    JobPlan(plan, cables, job, first).configure();
    first += job.workers;
    if (job.sums.order == wire::Order::reproducible) declare_order(plan, job.id);
  }
  return plan;
}

}  // namespace tributary::sim
