#include "dataplane/frame/fragment_table.h"

#include <algorithm>
#include <bit>

#include "core/net/fragment.h"
#include "core/prng.h"
#include "dataplane/frame/mac_key.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kBits = 64;

constexpr std::size_t units(std::size_t bytes) {
  return (bytes + wire::kFragmentUnit - 1) / wire::kFragmentUnit;
}

// Calls f(word, mask) for the bits from `first` on.
template <typename F>
void for_each_word(std::size_t first, std::size_t count, F f) {
  for (std::size_t bit = first; bit < first + count;) {
    const std::size_t in_word = std::min(kBits - bit % kBits, first + count - bit);
    const std::uint64_t ones = in_word == kBits ? ~0ULL : (1ULL << in_word) - 1;
    f(bit / kBits, ones << bit % kBits);
    bit += in_word;
  }
}

}  // namespace

std::uint64_t hash_of(const DatagramKey& key, std::uint64_t seed) {
  const std::uint64_t rest = std::uint64_t{key.id} << 32 | std::uint64_t{key.protocol} << 24 |
                             (key.vlan_tci ? 1u << 16 | *key.vlan_tci : 0u);
  std::uint64_t hash = split_mix(seed ^ mac_bits(key.source));
  hash = split_mix(hash ^ (std::uint64_t{key.source_ip} << 32 | key.destination_ip));
  return split_mix(hash ^ rest);
}

FragmentTable::FragmentTable(std::uint32_t datagrams, Duration timeout, std::size_t most_bytes,
                             std::uint64_t seed)
    : timeout_(timeout),
      most_bytes_(std::min(most_bytes, wire::kMostPacketBytes)),
      seed_(seed),
      words_each_((units(most_bytes_) + kBits - 1) / kBits),
      datagrams_(datagrams),
      buckets_(std::bit_ceil(std::size_t{datagrams}), kNone),
      filled_(datagrams * words_each_) {
  for (std::uint32_t place = datagrams; place-- > 0;) {
    datagrams_[place].next = free_;
    free_ = place;
  }
}

std::uint32_t& FragmentTable::bucket(const DatagramKey& key) {
  return buckets_[hash_of(key, seed_) & (buckets_.size() - 1)];
}

std::uint32_t FragmentTable::find(const DatagramKey& key) const {
  std::uint32_t place = buckets_[hash_of(key, seed_) & (buckets_.size() - 1)];
  while (place != kNone && !(datagrams_[place].key == key)) place = datagrams_[place].next;
  return place;
}

std::uint32_t FragmentTable::begin(const DatagramKey& key, Instant now) {
  const std::uint32_t place = free_;
  Datagram& d = datagrams_[place];
  free_ = d.next;
  std::uint32_t& first = bucket(key);
  d = {.key = key, .opened = now, .next = first};
  first = place;
  by_age_.append(datagrams_, place);
  std::fill_n(&filled_[place * words_each_], words_each_, 0);
  ++open_;
  return place;
}

FragmentTable::GivenUp FragmentTable::close(std::uint32_t place) {
  Datagram& d = datagrams_[place];
  std::uint32_t* link = &bucket(d.key);
  while (*link != place) link = &datagrams_[*link].next;
  *link = d.next;
  by_age_.remove(datagrams_, place);
  d.next = free_;
  free_ = place;
  --open_;
  return {place, d.fragments};
}

FragmentTable::Overlap FragmentTable::look(std::uint32_t place, std::size_t offset,
                                           std::size_t bytes) const {
  const std::uint64_t* const words = &filled_[place * words_each_];
  bool any = false;
  bool all = true;
  for_each_word(offset / wire::kFragmentUnit, units(bytes),
                [&](std::size_t word, std::uint64_t mask) {
                  any = any || (words[word] & mask) != 0;
                  all = all && (words[word] & mask) == mask;
                });
  return all ? Overlap::all : any ? Overlap::some : Overlap::none;
}

void FragmentTable::fill(std::uint32_t place, std::size_t offset, std::size_t bytes) {
  std::uint64_t* const words = &filled_[place * words_each_];
  for_each_word(offset / wire::kFragmentUnit, units(bytes),
                [&](std::size_t word, std::uint64_t mask) { words[word] |= mask; });
}

bool FragmentTable::contradicts(const Datagram& d, std::size_t end, bool more) {
  if (more) return d.end != 0 && end >= d.end;
  return (d.end != 0 && d.end != end) || d.reach > end;
}

FragmentTable::Outcome FragmentTable::add(const DatagramKey& key, std::size_t offset,
                                          std::size_t bytes, bool more, Instant now) {
  Outcome out;
  const std::size_t end = offset + bytes;
  if (bytes == 0 || (more && bytes % wire::kFragmentUnit != 0))
    out.reason = DropReason::fragment_malformed;
  else if (end > most_bytes_)
    out.reason = DropReason::fragment_too_large;
  if (out.reason != DropReason::none) return out;

  out.place = find(key);
  if (out.place == kNone) {
    if (free_ == kNone) out.evicted = close(by_age_.oldest());
    out.place = begin(key, now);
    out.opened = true;
  }
  Datagram& d = datagrams_[out.place];
  const Overlap overlap = look(out.place, offset, bytes);
  if (contradicts(d, end, more) || overlap == Overlap::some)
    out.reason = DropReason::fragment_overlap;
  if (out.reason != DropReason::none) {
    out.refused = close(out.place);
    return out;
  }
  if (overlap == Overlap::all) {
    out.reason = DropReason::fragment_duplicate;
    return out;
  }
  fill(out.place, offset, bytes);
  ++d.fragments;
  d.filled += bytes;
  d.reach = std::max(d.reach, end);
  if (!more) d.end = end;
  if (d.end == 0 || d.filled != d.end) return out;
  out.done = d.end;
  close(out.place);
  return out;
}

std::optional<FragmentTable::GivenUp> FragmentTable::expire(Instant now) {
  if (by_age_.empty() || now - datagrams_[by_age_.oldest()].opened < timeout_) return std::nullopt;
  return close(by_age_.oldest());
}

std::optional<FragmentTable::GivenUp> FragmentTable::give_up_oldest() {
  if (by_age_.empty()) return std::nullopt;
  return close(by_age_.oldest());
}

}  // namespace tributary::dataplane
