// The latest path of each flow. A new one that finds no room evicts the flow that was seen longest
// ago.
//
// Packets choose the keys: the hash has a key of the table's own. A flow is in one entry of an
// array, 448 bytes, of which a packet touches the first two cache lines; where it lies is found in
// arrays of 20 bytes a flow. All memory is reserved at the start. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/index_list.h"
#include "core/prefetch.h"
#include "core/sip_hash.h"
#include "core/time.h"
#include "telemetry/wire/path_of.h"

namespace tributary::telemetry {

struct FlowHop {
  std::uint32_t node = 0;
  std::uint16_t egress_port = 0;
  std::uint32_t latency_ns = kUnknown32;
  bool operator==(const FlowHop&) const = default;
};

struct alignas(kCacheLineBytes) FlowPath {
  FlowKey key;
  bool whole = false;  // from the INT source on
  std::size_t count = 0;
  std::uint64_t reports = 0;
  std::uint64_t changes = 0;  // of nodes or ports
  Instant seen;
  std::array<FlowHop, kMostHops> hops;     // from the source on
  std::array<Instant, kMostHops> seen_at;  // of hops that report for themselves
};

class FlowTable {
 public:
  // At most 2^31 flows; 0: none is kept.
  explicit FlowTable(std::size_t limit);

  [[nodiscard]] std::uint64_t hash_of(const FlowKey& key) const;
  // Has the flow's memory fetched ahead of see(), if the flow is here.
  void prefetch(std::uint64_t hash) const;
  // Makes the flow the latest one; a new one has only its key. The limit is not 0.
  FlowPath& see(const FlowKey& key, std::uint64_t hash);

  [[nodiscard]] const FlowPath* find(const FlowKey& key) const;
  [[nodiscard]] std::size_t size() const { return paths_.size(); }
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

  // From the flow that was seen last to the one that was seen longest ago.
  class Iterator {
   public:
    Iterator(const FlowTable& table, std::uint32_t at) : table_(&table), at_(at) {}
    const FlowPath& operator*() const { return table_->paths_[at_]; }
    Iterator& operator++() {
      at_ = table_->places_[at_].older;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const FlowTable* table_;
    std::uint32_t at_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, by_age_.newest()}; }
  [[nodiscard]] Iterator end() const { return {*this, kNone}; }

 private:
  // Where the path with the same index lies.
  struct Place {
    std::uint32_t tag = 0;   // the hash's upper half
    std::uint32_t next = 0;  // in the bucket
    std::uint32_t older = 0;
    std::uint32_t newer = 0;
  };
  using ByAge = IndexList<Place, &Place::older, &Place::newer>;
  static constexpr std::uint32_t kNone = ByAge::kNone;

  [[nodiscard]] std::uint32_t find(const FlowKey& key, std::uint64_t hash) const;
  [[nodiscard]] std::uint32_t& bucket(std::uint64_t hash) {
    return buckets_[hash & (buckets_.size() - 1)];
  }
  void take_out(std::uint32_t index);

  const std::size_t limit_;
  const SipHash hash_{SipKey::random()};
  std::vector<std::uint32_t> buckets_;  // the first of each; a power of two
  std::vector<Place> places_;
  std::vector<FlowPath> paths_;
  ByAge by_age_;
  std::uint64_t evicted_ = 0;
};

}  // namespace tributary::telemetry
