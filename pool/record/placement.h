// Assigns records to nodes: weighted rendezvous hashing (Thaler and Ravishankar, 1998).
//
// Every node and loader computes the same owners from names and weights alone. A node that leaves
// moves only its own records; a node that joins takes only its new ones. A node of weight w draws w
// scores and the best counts, so its share is w of the sum.
//
// Consecutive ids stay together in groups, so that each read of a store is worth a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary::pool {

inline constexpr std::uint32_t kMaxReplicas = 2;
inline constexpr std::uint32_t kMaxWeight = 16;

struct PlacedNode {
  std::string name;
  std::uint32_t weight = 1;  // 1 to kMaxWeight
};

// Owners in order of rank: the first is the primary, the others hold replicas.
struct Owners {
  std::uint8_t nodes[1 + kMaxReplicas] = {};
  std::uint8_t count = 0;
  [[nodiscard]] bool contains(std::size_t node) const {
    for (std::size_t i = 0; i < count; ++i)
      if (nodes[i] == node) return true;
    return false;
  }
};

class Placement {
 public:
  // `replicas`: 0 to kMaxReplicas, limited by the number of nodes. `group_shift`: 2^shift ids form
  // a group. Throws std::invalid_argument.
  Placement(const std::vector<PlacedNode>& nodes, std::uint32_t replicas,
            std::uint32_t group_shift);

  [[nodiscard]] Owners owners(std::uint64_t id) const;
  [[nodiscard]] std::uint32_t group_shift() const { return group_shift_; }
  [[nodiscard]] std::uint64_t group_of(std::uint64_t id) const { return id >> group_shift_; }

 private:
  struct Node {
    std::uint64_t seed;
    std::uint32_t weight;
  };
  std::vector<Node> nodes_;
  std::uint32_t owners_;
  std::uint32_t group_shift_;
};

// The shift for this average record length: groups of about 256 KiB, of 1 to 4,096 ids.
std::uint32_t group_shift_for(std::uint64_t average_bytes);

}  // namespace tributary::pool
