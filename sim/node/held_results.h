// Which chunks' results a rank has been given, as the checker keeps account of it: per shard
// everything before a seq, and what came ahead of its turn. The window bounds the latter.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/seq.h"

namespace tributary::sim {

class HeldResults {
 public:
  void reset(std::uint8_t shards, std::uint32_t first_seq) {
    shards_.assign(shards, Shard{first_seq, {}});
  }
  void add(std::uint8_t shard, std::uint32_t seq) {
    Shard& s = shards_[shard];
    if (seq != s.before) {
      if (!seq_before(seq, s.before)) s.ahead.insert(seq);
      return;
    }
    ++s.before;
    while (!s.ahead.empty() && s.ahead.erase(s.before) != 0) ++s.before;
  }
  [[nodiscard]] bool contains(std::uint8_t shard, std::uint32_t seq) const {
    if (shard >= shards_.size()) return false;
    const Shard& s = shards_[shard];
    return seq_before(seq, s.before) || s.ahead.contains(seq);
  }

 private:
  struct Shard {
    std::uint32_t before = 0;  // all results before it are held
    std::set<std::uint32_t> ahead;
  };
  std::vector<Shard> shards_;
};

}  // namespace tributary::sim
