#include "pool/record/placement.h"

#include <algorithm>
#include <stdexcept>

#include "core/prng.h"
#include "pool/record/table.h"

namespace tributary::pool {
namespace {

// FNV-1a, then mixed: names often differ in one character only.
std::uint64_t hash_name(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return split_mix(hash);
}

}  // namespace

Placement::Placement(const std::vector<PlacedNode>& nodes, std::uint32_t replicas,
                     std::uint32_t group_shift)
    : group_shift_(group_shift) {
  if (nodes.empty() || nodes.size() > kMaxNodes)
    throw std::invalid_argument("a pool of " + std::to_string(nodes.size()) +
                                " nodes; allowed: 1 to " + std::to_string(kMaxNodes));
  if (replicas > kMaxReplicas)
    throw std::invalid_argument(std::to_string(replicas) + " replicas; allowed: 0 to " +
                                std::to_string(kMaxReplicas));
  for (const PlacedNode& node : nodes) {
    if (node.weight < 1 || node.weight > kMaxWeight)
      throw std::invalid_argument("node " + node.name + " has weight " +
                                  std::to_string(node.weight) + "; allowed: 1 to " +
                                  std::to_string(kMaxWeight));
    nodes_.push_back({hash_name(node.name), node.weight});
  }
  owners_ = static_cast<std::uint32_t>(std::min<std::size_t>(1 + replicas, nodes.size()));
}

Owners Placement::owners(std::uint64_t id) const {
  const std::uint64_t key = split_mix(group_of(id) + kSplitMixStep);
  std::uint64_t best[1 + kMaxReplicas] = {};
  Owners out;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    std::uint64_t score = 0;
    for (std::uint32_t draw = 0; draw < nodes_[n].weight; ++draw)
      score = std::max(score, split_mix(key ^ (nodes_[n].seed + draw * kSplitMixStep)));
    // Inserts into the few best; equal scores keep the order of the nodes.
    std::size_t at = out.count;
    while (at > 0 && best[at - 1] < score) --at;
    if (at >= owners_) continue;
    if (out.count < owners_) ++out.count;
    for (std::size_t i = out.count - 1u; i > at; --i) {
      best[i] = best[i - 1];
      out.nodes[i] = out.nodes[i - 1];
    }
    best[at] = score;
    out.nodes[at] = static_cast<std::uint8_t>(n);
  }
  return out;
}

std::uint32_t group_shift_for(std::uint64_t average_bytes) {
  constexpr std::uint64_t kGroupBytes = 256 << 10;
  std::uint32_t shift = 0;
  while (shift < 12 && (std::max<std::uint64_t>(average_bytes, 1) << (shift + 1)) <= kGroupBytes)
    ++shift;
  return shift;
}

}  // namespace tributary::pool
