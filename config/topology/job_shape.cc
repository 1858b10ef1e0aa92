#include "config/topology/job_shape.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "config/model/bracketing.h"
#include "config/text/codec.h"
#include "config/text/lift.h"

namespace tributary::config {

JobShape::JobShape(const TopologyIndex& index, const TopologyJob& job)
    : topology_(index.topology()), job_(job) {
  const std::size_t switches = topology_.switches.size();
  places_.resize(job.config.workers);
  ranks_.resize(switches);
  children_.resize(switches);
  nodes_.resize(switches);
  parents_.resize(switches);
  place_ranks(index);
  add_children(index);
  for (const TopologySwitch& sw : topology_.switches)
    deadlines_.push_back({sw.deadline.value_or(job.config.deadline), std::nullopt});
  if (switches > 0) settle_deadlines(top_);
  digest_ = digest_of_children();
}

void JobShape::place_ranks(const TopologyIndex& index) {
  for (const TopologyMember& member : members_of(topology_, job_)) {
    const TopologyWorker& worker = topology_.workers[index.worker_at(member.worker).value()];
    places_[member.rank] =
        index.aggregating(Hop{index.switch_at(worker.attached_to).value(), worker.port});
  }
  for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
    for (auto hop = places_[rank]; hop; hop = index.above(hop->node))
      ranks_[hop->node].push_back(rank);
  // The root: on the way up from any worker, the first switch with all workers below.
  auto hop = places_.empty() ? std::nullopt : places_.front();
  while (hop && ranks_[hop->node].size() < places_.size()) hop = index.above(hop->node);
  if (!hop) return;
  top_ = hop->node;
  for (auto over = index.above(top_); over; over = index.above(over->node))
    ranks_[over->node].clear();
}

void JobShape::add_children(const TopologyIndex& index) {
  struct Child {
    ChildConfig config;
    std::optional<std::size_t> node;
  };
  std::vector<std::vector<Child>> all(children_.size());
  for (std::uint32_t rank = 0; rank < places_.size(); ++rank)
    if (const auto& place = places_[rank])
      all[place->node].push_back({{false, rank, 0, place->port, {rank}}, std::nullopt});
  for (std::size_t below = 0; below < ranks_.size(); ++below) {
    if (below == top_ || !takes_part(below)) continue;
    const auto hop = index.above(below);
    if (!hop) continue;
    parents_[below] = hop->node;
    const SwitchConfig& config = topology_.switches[below].config;
    all[hop->node].push_back({{true, config.id, config.ipv4, hop->port, ranks_[below]}, below});
  }
  for (std::size_t node = 0; node < all.size(); ++node) {
    std::sort(all[node].begin(), all[node].end(), [](const Child& a, const Child& b) {
      return a.config.ranks.front() < b.config.ranks.front();
    });
    for (Child& child : all[node]) {
      children_[node].push_back(std::move(child.config));
      nodes_[node].push_back(child.node);
    }
  }
}

Duration JobShape::settle_deadlines(std::size_t node) {
  Deadlines& deadlines = deadlines_[node];
  for (const auto& child : nodes_[node])
    if (child)
      deadlines.below = std::max(deadlines.below.value_or(Duration()), settle_deadlines(*child));
  if (!topology_.switches[node].deadline && deadlines.below)
    deadlines.own = deadline_above(*deadlines.below, job_.config.deadline);
  return deadlines.own;
}

std::uint32_t JobShape::digest_of_children() const {
  std::map<std::uint32_t, std::string> parts;  // by id: the order in the file does not matter
  for (std::size_t node = 0; node < ranks_.size(); ++node) {
    if (!takes_part(node)) continue;
    std::string& part = parts[topology_.switches[node].config.id];
    for (const ChildConfig& c : children_[node])
      part.append(c.is_switch ? " s" : " w")
          .append(std::to_string(c.id))
          .append(":")
          .append(ranks_text(c.ranks));
  }
  std::string text = job_.config.bracketing ? format_bracket(*job_.config.bracketing) : "";
  for (const auto& [id, part] : parts) text.append("/").append(std::to_string(id)).append(part);
  std::uint32_t hash = 0x811C9DC5u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return hash == 0 ? 1 : hash;
}

Bracket JobShape::expression_at(std::size_t node) const {
  Bracket all;
  for (std::size_t i = 0; i < children_[node].size(); ++i) {
    if (const auto below = nodes_[node][i])
      all.items.push_back(expression_at(*below));
    else
      all.items.push_back({{}, children_[node][i].id});
  }
  return all;
}

JobConfig JobShape::config_at(std::size_t node) const {
  JobConfig config = job_.config;
  config.deadline = deadline_at(node);
  config.children = children_[node];
  config.tree_digest = digest_;
  for (const ChildConfig& child : config.children)
    if (!child.is_switch) config.members.push_back({child.id, child.port});
  if (config.bracketing) config.child_order = order_over(*config.bracketing, config.children);
  // The completion engine must know the expression that the tree computes.
  if (config.order == wire::Order::reproducible && !config.bracketing)
    config.bracketing = expression_at(top_);
  if (node == top_) return config;
  config.parent = parent_at(node);
  const SwitchConfig& root = topology_.switches[top_].config;
  const std::string& name = topology_.switches[node].config.name;
  if (name != kRootHost && is_among(config.completion_hosts, name))
    config.hosting = HostingConfig{root.ipv4, mac_from(node, root)};
  return config;
}

wire::MacAddress JobShape::mac_from(std::size_t node, const SwitchConfig& other) const {
  return config::mac_from(topology_.switches[node].config, other);
}

ParentConfig JobShape::parent_at(std::size_t node) const {
  const std::size_t parent = parents_[node].value();
  const SwitchConfig& up = topology_.switches[parent].config;
  const auto& siblings = children_[parent];
  const auto self = std::lower_bound(
      siblings.begin(), siblings.end(), ranks_[node].front(),
      [](const ChildConfig& child, std::uint32_t rank) { return child.ranks.front() < rank; });
  return {up.name,
          up.id,
          up.ipv4,
          mac_from(node, up),
          topology_.switches[node].uplink,
          static_cast<std::uint16_t>(self - siblings.begin()),
          static_cast<std::uint16_t>(siblings.size())};
}

std::vector<JobShape> shapes_of(const TopologyIndex& index) {
  std::vector<JobShape> shapes;
  shapes.reserve(index.topology().jobs.size());
  for (const TopologyJob& job : index.topology().jobs) shapes.emplace_back(index, job);
  return shapes;
}

}  // namespace tributary::config
