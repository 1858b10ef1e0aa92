#include "aggregator/names/name_store.h"

#include <algorithm>
#include <bit>

#include "core/digest.h"

namespace tributary::aggregator {
namespace {

// Learned entries are those that the cache remembers, twice its slots, and one that is coming.
std::uint32_t all_entries(std::uint32_t declared, std::uint32_t slots) {
  return declared + 2 * slots + 1;
}

// The name of a value: what is before "/seg=N", and what is behind it.
struct ValueName {
  std::string_view before;
  std::string_view behind;
  bool operator==(const ValueName&) const = default;
};

ValueName value_of(std::string_view name) {
  const std::size_t at = name.rfind("/seg=");
  if (at == std::string_view::npos) return {name, {}};
  return {name.substr(0, at), name.substr(std::min(name.find('/', at + 1), name.size()))};
}

}  // namespace

NameStore::NameStore(std::uint32_t declared, std::uint32_t slots, std::uint32_t slot_bytes,
                     std::uint64_t seed)
    : slots_(slots),
      slot_bytes_(slot_bytes),
      seed_(seed),
      entries_(all_entries(declared, slots)),
      buckets_(std::bit_ceil(entries_.size()), kNone),
      value_buckets_(buckets_.size(), kNone),
      memory_(std::make_unique<std::byte[]>(std::size_t{slots} * slot_bytes)),
      arc_(static_cast<std::uint32_t>(entries_.size()), slots) {
  free_slots_.reserve(slots);
  for (std::uint32_t slot = slots; slot > 0; --slot) free_slots_.push_back(slot - 1);
  for (auto i = static_cast<std::uint32_t>(entries_.size()); i > 0; --i) {
    entries_[i - 1].next = free_;
    free_ = i - 1;
  }
}

std::size_t NameStore::table_bytes(std::uint32_t declared, std::uint32_t slots) {
  const std::size_t entries = all_entries(declared, slots);
  return entries * (sizeof(NameEntry) + 12) + std::bit_ceil(entries) * 8 + std::size_t{slots} * 4;
}

std::uint64_t NameStore::hash_of(std::string_view name) const {
  return xxh64(std::as_bytes(std::span(name.data(), name.size())), seed_);
}

std::uint32_t NameStore::find(std::string_view name, std::uint64_t hash) const {
  std::uint32_t at = buckets_[hash & (buckets_.size() - 1)];
  while (at != kNone && (entries_[at].hash != hash || entries_[at].name() != name))
    at = entries_[at].next;
  return at;
}

std::uint64_t NameStore::hash_of_value(std::string_view name) const {
  const auto bytes_of = [](std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  const ValueName value = value_of(name);
  return xxh64(bytes_of(value.behind), xxh64(bytes_of(value.before), seed_));
}

std::uint32_t NameStore::find_of_value(std::string_view name) const {
  return find_of_value(name, hash_of_value(name));
}

std::uint32_t NameStore::find_of_value(std::string_view name, std::uint64_t hash) const {
  std::uint32_t at = value_buckets_[hash & (value_buckets_.size() - 1)];
  while (at != kNone &&
         (entries_[at].value_hash != hash || value_of(entries_[at].name()) != value_of(name)))
    at = entries_[at].next_value;
  return at;
}

void NameStore::join_value(std::uint32_t entry) {
  NameEntry& e = entries_[entry];
  e.value_hash = hash_of_value(e.name());
  const std::uint32_t there = find_of_value(e.name(), e.value_hash);
  if (there == kNone) {
    std::uint32_t& bucket = value_buckets_[e.value_hash & (value_buckets_.size() - 1)];
    e.sibling_before = e.sibling_after = entry;
    e.next_value = bucket;
    bucket = entry;
    return;
  }
  e.sibling_after = there;
  e.sibling_before = entries_[there].sibling_before;
  entries_[e.sibling_before].sibling_after = entry;
  entries_[there].sibling_before = entry;
}

void NameStore::leave_value(std::uint32_t entry) {
  const NameEntry& e = entries_[entry];
  std::uint32_t* link = &value_buckets_[e.value_hash & (value_buckets_.size() - 1)];
  while (*link != kNone && *link != entry) link = &entries_[*link].next_value;
  if (*link == entry && e.sibling_after == entry) {
    *link = e.next_value;
  } else if (*link == entry) {  // another one stands for the value
    entries_[e.sibling_after].next_value = e.next_value;
    *link = e.sibling_after;
  }
  entries_[e.sibling_before].sibling_after = e.sibling_after;
  entries_[e.sibling_after].sibling_before = e.sibling_before;
}

std::uint32_t NameStore::add(std::string_view name, std::uint64_t hash, std::uint32_t job,
                             Instant now) {
  if (free_ == kNone) return kNone;
  const std::uint32_t at = free_;
  NameEntry& e = entries_[at];
  free_ = e.next;
  e.hash = hash;
  e.info = {};
  e.from = {};
  e.created = now;
  e.expires = Instant::max();
  e.job = job;
  e.slot = kNone;
  e.bytes = 0;
  e.name_bytes = static_cast<std::uint16_t>(name.size());
  e.used = true;
  e.declared = e.confirmed = false;
  std::memcpy(e.text.data(), name.data(), name.size());
  e.next = bucket(hash);
  bucket(hash) = at;
  join_value(at);
  by_age_.append(entries_, at);
  counters_.names.add();
  return at;
}

void NameStore::declare(std::uint32_t entry, const Endpoint& from, Instant now) {
  NameEntry& e = entries_[entry];
  e.from = from;
  if (e.declared) return;
  e.declared = true;
  e.created = now;
  by_age_.remove(entries_, entry);
  by_age_.append(entries_, entry);
}

void NameStore::remove(std::uint32_t entry) {
  NameEntry& e = entries_[entry];
  std::uint32_t* link = &bucket(e.hash);
  while (*link != entry) link = &entries_[*link].next;
  *link = e.next;
  release_slot(entry);
  arc_.erase(entry);
  by_age_.remove(entries_, entry);
  leave_value(entry);
  e.used = e.declared = false;
  e.next = free_;
  free_ = entry;
  counters_.names.set(counters_.names.get() - 1);
}

void NameStore::release_slot(std::uint32_t entry) {
  NameEntry& e = entries_[entry];
  if (e.slot == kNone) return;
  free_slots_.push_back(e.slot);
  counters_.segments.set(counters_.segments.get() - 1);
  counters_.bytes.set(counters_.bytes.get() - e.bytes);
  e.slot = kNone;
}

std::uint32_t NameStore::keep(std::uint32_t entry, std::span<const std::byte> payload) {
  if (has_bytes(entry)) return 0;
  const Arc::Outcome given_up = arc_.insert(entry);
  std::uint32_t evicted_job = 0;
  if (given_up.evicted != Arc::kNone) {
    evicted_job = entries_[given_up.evicted].job;
    release_slot(given_up.evicted);
    counters_.evicted.add();
  }
  if (given_up.forgotten != Arc::kNone && !entries_[given_up.forgotten].declared)
    remove(given_up.forgotten);
  NameEntry& e = entries_[entry];
  e.slot = free_slots_.back();
  free_slots_.pop_back();
  e.bytes = static_cast<std::uint16_t>(payload.size());
  if (!payload.empty())
    std::memcpy(memory_.get() + std::size_t{e.slot} * slot_bytes_, payload.data(), payload.size());
  counters_.segments.add();
  counters_.bytes.add(payload.size());
  return evicted_job;
}

}  // namespace tributary::aggregator
