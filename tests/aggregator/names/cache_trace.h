// Requests that a cache is tried with, and the plain cache that ARC is compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "aggregator/names/arc.h"
#include "core/prng.h"

namespace tributary::aggregator {

// Numbers below `count`, Zipf-distributed with exponent 0.99; 0 comes most often.
class Zipf {
 public:
  Zipf(std::size_t count, std::uint64_t seed) : random_(seed), up_to_(count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      up_to_[i] = sum += 1 / std::pow(static_cast<double>(i + 1), 0.99);
  }
  std::uint32_t draw() {
    const double at = up_to_.back() * static_cast<double>(random_.next() >> 11) * 0x1p-53;
    return static_cast<std::uint32_t>(std::lower_bound(up_to_.begin(), up_to_.end(), at) -
                                      up_to_.begin());
  }

 private:
  Prng random_;
  std::vector<double> up_to_;
};

// Returns true for a hit.
inline bool ask(Arc& arc, std::uint32_t entry) {
  if (arc.holds(entry)) {
    arc.hit(entry);
    return true;
  }
  arc.insert(entry);
  return false;
}

class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}
  // Returns true for a hit.
  bool ask(std::uint32_t entry) {
    const auto found = where_.find(entry);
    const bool hit = found != where_.end();
    if (hit) order_.erase(found->second);
    order_.push_front(entry);
    where_[entry] = order_.begin();
    if (order_.size() > capacity_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    return hit;
  }

 private:
  std::size_t capacity_;
  std::list<std::uint32_t> order_;
  std::unordered_map<std::uint32_t, std::list<std::uint32_t>::iterator> where_;
};

}  // namespace tributary::aggregator
