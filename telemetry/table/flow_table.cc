#include "telemetry/table/flow_table.h"

#include <bit>
#include <cstring>
#include <utility>

namespace tributary::telemetry {
namespace {

constexpr std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

FlowTable::FlowTable(std::size_t limit)
    : limit_(limit), buckets_(std::bit_ceil(limit), std::uint32_t{kNone}) {
  places_.reserve(limit);
  paths_.reserve(limit);
}

std::uint64_t FlowTable::hash_of(const FlowKey& key) const {
  std::array<std::uint64_t, 5> words{};
  std::memcpy(words.data(), key.source.data(), key.source.size());
  std::memcpy(&words[2], key.destination.data(), key.destination.size());
  words[4] = std::uint64_t{key.source_port} << 32 | std::uint64_t{key.destination_port} << 16 |
             key.protocol;
  return hash_(words);
}

void FlowTable::prefetch(std::uint64_t hash) const {
  for (std::uint32_t at = buckets_[hash & (buckets_.size() - 1)]; at != kNone;
       at = places_[at].next) {
    if (places_[at].tag != tag_of(hash)) continue;
    const auto* path = reinterpret_cast<const std::byte*>(&paths_[at]);
    prefetch_to_write(path);
    return prefetch_to_write(path + kCacheLineBytes);
  }
}

std::uint32_t FlowTable::find(const FlowKey& key, std::uint64_t hash) const {
  std::uint32_t at = buckets_[hash & (buckets_.size() - 1)];
  while (at != kNone && (places_[at].tag != tag_of(hash) || paths_[at].key != key))
    at = places_[at].next;
  return at;
}

const FlowPath* FlowTable::find(const FlowKey& key) const {
  const std::uint32_t at = find(key, hash_of(key));
  return at == kNone ? nullptr : &paths_[at];
}

FlowPath& FlowTable::see(const FlowKey& key, std::uint64_t hash) {
  std::uint32_t at = find(key, hash);
  if (at != kNone) {
    by_age_.remove(places_, at);
    by_age_.append(places_, at);
    return paths_[at];
  }
  if (paths_.size() < limit_) {
    at = static_cast<std::uint32_t>(paths_.size());
    paths_.emplace_back();
    places_.emplace_back();
  } else {
    at = by_age_.oldest();
    take_out(at);
    ++evicted_;
    paths_[at] = {};
  }
  paths_[at].key = key;
  places_[at].tag = tag_of(hash);
  places_[at].next = std::exchange(bucket(hash), at);
  by_age_.append(places_, at);
  return paths_[at];
}

void FlowTable::take_out(std::uint32_t index) {
  by_age_.remove(places_, index);
  std::uint32_t* link = &bucket(hash_of(paths_[index].key));
  while (*link != index) link = &places_[*link].next;
  *link = places_[index].next;
}

}  // namespace tributary::telemetry
