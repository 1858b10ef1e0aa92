#include "aggregator/names/name_store.h"

#include <bit>

#include "core/digest.h"

namespace tributary::aggregator {
namespace {

// Learned entries are those that the cache remembers, twice its slots, and one that is coming.
std::uint32_t all_entries(std::uint32_t declared, std::uint32_t slots) {
  return declared + 2 * slots + 1;
}

}  // namespace

NameStore::NameStore(std::uint32_t declared, std::uint32_t slots, std::uint32_t slot_bytes,
                     std::uint64_t seed)
    : slots_(slots),
      slot_bytes_(slot_bytes),
      seed_(seed),
      entries_(all_entries(declared, slots)),
      buckets_(std::bit_ceil(entries_.size()), kNone),
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
  return entries * (sizeof(NameEntry) + 12) + std::bit_ceil(entries) * 4 + std::size_t{slots} * 4;
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
  e.job = job;
  e.slot = kNone;
  e.bytes = 0;
  e.name_bytes = static_cast<std::uint16_t>(name.size());
  e.used = true;
  e.declared = e.confirmed = false;
  std::memcpy(e.text.data(), name.data(), name.size());
  e.next = bucket(hash);
  bucket(hash) = at;
  counters_.names.add();
  return at;
}

void NameStore::declare(std::uint32_t entry, const Endpoint& from, Instant now) {
  NameEntry& e = entries_[entry];
  e.from = from;
  if (e.declared) return;
  e.declared = true;
  e.created = now;
  declared_.append(entries_, entry);
}

void NameStore::remove(std::uint32_t entry) {
  NameEntry& e = entries_[entry];
  std::uint32_t* link = &bucket(e.hash);
  while (*link != entry) link = &entries_[*link].next;
  *link = e.next;
  release_slot(entry);
  arc_.erase(entry);
  if (e.declared) declared_.remove(entries_, entry);
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

void NameStore::keep(std::uint32_t entry, std::span<const std::byte> payload) {
  if (has_bytes(entry)) return;
  const Arc::Outcome given_up = arc_.insert(entry);
  if (given_up.evicted != Arc::kNone) {
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
}

}  // namespace tributary::aggregator
