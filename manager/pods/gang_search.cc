#include "manager/pods/gang_search.h"

#include <algorithm>

#include "manager/pods/device_choice.h"

namespace tributary::manager {

GangSearch::GangSearch(const std::vector<Node>& nodes, const Gang& gang,
                       std::vector<std::size_t> allowed, const Distances& distances,
                       const Thresholds& thresholds)
    : nodes_(nodes),
      gang_(gang),
      allowed_(std::move(allowed)),
      distances_(distances),
      thresholds_(thresholds),
      spots_(gang.asks.size()),
      scores_(gang.asks.size()) {
  named_ = std::any_of(gang.asks.begin(), gang.asks.end(),
                       [](const Ask& ask) { return !ask.node.empty() || !ask.device.empty(); });
  kind_of_.resize(nodes_.size());
  for (const std::size_t node : allowed_) note(node);
}

bool GangSearch::run() {
  return can_hold_enough() && from(0);
}

// Counts each sort of pod alone, so it refuses none that fit; it spares most searches that fail.
bool GangSearch::can_hold_enough() const {
  std::size_t fit = 0;
  std::vector<bool> counted(gang_.asks.size());
  for (std::size_t i = 0; i < gang_.asks.size(); ++i) {
    if (counted[i]) continue;
    std::size_t wanted = 0;
    for (std::size_t j = i; j < gang_.asks.size(); ++j) {
      if (!gang_.asks[j].is_like(gang_.asks[i])) continue;
      counted[j] = true;
      ++wanted;
    }
    std::size_t room = 0;
    for (const std::size_t node : allowed_)
      room += room_for(nodes_[node], gang_.asks[i], thresholds_, wanted);
    fit += std::min(room, wanted);
  }
  return fit >= gang_.least;
}

bool GangSearch::from(std::size_t at) {
  if (at == gang_.asks.size()) return placed_ >= gang_.least;
  if (placed_ + (gang_.asks.size() - at) < gang_.least || ++steps_ > kMostSteps) return false;
  std::vector<std::uint32_t> here = state(at);
  if (dead_.contains(here)) return false;
  std::set<std::uint32_t> tried;
  for (const auto& [score, node] : candidates(gang_.asks[at])) {
    if (!tried.insert(kind_of_[node]).second) continue;
    if (try_node(at, node, score)) return true;
    if (gave_up()) return false;
  }
  // Without this pod there may still be enough.
  if (from(at + 1)) return true;
  if (!gave_up()) dead_.insert(std::move(here));
  return false;
}

bool GangSearch::try_node(std::size_t at, std::size_t node, const Score& score) {
  const Ask& ask = gang_.asks[at];
  // A copy: the choices are of the node as it is now.
  const Node before = nodes_[node];
  return each_choice(before, ask, thresholds_, [&](const std::vector<std::size_t>& devices) {
    if (gave_up()) return false;
    const Spot spot{node, devices};
    take(ask, spot);
    spots_[at] = spot;
    scores_[at] = score;
    if (from(at + 1)) return true;
    spots_[at].reset();
    release(ask, spot);
    return false;
  });
}

std::vector<std::pair<Score, std::size_t>> GangSearch::candidates(const Ask& ask) const {
  std::vector<std::pair<Score, std::size_t>> found;
  const std::string near = leaf();
  for (const std::size_t i : allowed_)
    if (judge(nodes_[i], ask, thresholds_).cause == Cause::none)
      found.emplace_back(score(nodes_[i], ask, near, distances_, thresholds_), i);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.points() < b.first.points();
  });
  return found;
}

void GangSearch::take(const Ask& ask, const Spot& spot) {
  Node& node = nodes_[spot.node];
  node.cpu_millis_used += ask.cpu_millis;
  node.memory_used += ask.memory_bytes;
  for (const std::size_t device : spot.devices) node.devices[device].claimed_by = ask.pod;
  ++placed_;
  note(spot.node);
}

void GangSearch::release(const Ask& ask, const Spot& spot) {
  Node& node = nodes_[spot.node];
  node.cpu_millis_used -= ask.cpu_millis;
  node.memory_used -= ask.memory_bytes;
  for (const std::size_t device : spot.devices) node.devices[device].claimed_by.clear();
  --placed_;
  note(spot.node);
}

std::string GangSearch::leaf() const {
  for (const auto& spot : spots_)
    if (spot) return nodes_[spot->node].leaf;
  return "";
}

std::string GangSearch::likeness(const Node& node) const {
  std::string text = named_ ? node.name : "";
  text.append("|").append(node.leaf);
  for (const std::uint64_t figure :
       {node.cpu_millis, node.cpu_millis_used, node.memory_bytes, node.memory_used})
    text.append("|").append(std::to_string(figure));
  text.append("|").append(std::to_string(node.cpu_load));
  for (const Taint& taint : node.taints)
    text.append("|").append(taint.key).append("=").append(taint.value).append(taint.effect);
  std::vector<std::string> devices;
  for (const Device& device : node.devices)
    devices.push_back((named_ ? device.name : "") + "|" + device.kind + "|" +
                      std::to_string(device.free_bytes) + "|" + std::to_string(device.load) +
                      (device.claimed_by.empty() && device.problem.empty() ? "" : "!"));
  std::sort(devices.begin(), devices.end());
  for (const std::string& device : devices) text.append("#").append(device);
  return text;
}

void GangSearch::note(std::size_t node) {
  const auto next = static_cast<std::uint32_t>(kinds_.size());
  kind_of_[node] = kinds_.try_emplace(likeness(nodes_[node]), next).first->second;
}

std::vector<std::uint32_t> GangSearch::state(std::size_t at) const {
  std::vector<std::uint32_t> found;
  for (const std::size_t node : allowed_) found.push_back(kind_of_[node]);
  std::sort(found.begin(), found.end());
  found.push_back(static_cast<std::uint32_t>(at));
  found.push_back(static_cast<std::uint32_t>(placed_));
  return found;
}

}  // namespace tributary::manager
