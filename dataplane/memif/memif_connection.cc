#include "dataplane/memif/memif_connection.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/memif/memif_refusal.h"

namespace tributary::dataplane {
namespace {

using Ring = MemifOffer::Ring;

bool overlap(const Ring& a, const Ring& b) {
  const std::uint64_t a_end = a.offset + SharedRing::bytes(a.log2_size);
  const std::uint64_t b_end = b.offset + SharedRing::bytes(b.log2_size);
  return a.region == b.region && a.offset < b_end && b.offset < a_end;
}

void check_apart(const MemifOffer& offer) {
  std::vector<const Ring*> seen;
  for (const auto* const rings : {&offer.to_server, &offer.to_client})
    for (const Ring& ring : *rings) {
      for (const Ring* const other : seen)
        if (overlap(ring, *other)) throw MemifRefusal("two rings lie on each other");
      seen.push_back(&ring);
    }
}

}  // namespace

MemifConnection::MemifConnection(MemifOffer offer) : unchecked_(offer.unchecked) {
  for (const MemifOffer::Region& region : offer.regions)
    regions_.add(region.memory.get(), region.bytes);
  check_apart(offer);
  for (const Ring& ring : offer.to_server)
    rx_.emplace_back(begin(ring, false), regions_, unchecked_);
  for (Ring& ring : offer.to_client)
    tx_.emplace_back(begin(ring, true), regions_, std::move(ring.event));
}

bool MemifConnection::broken() const {
  const auto is_broken = [](const auto& ring) { return ring.broken(); };
  return std::any_of(rx_.begin(), rx_.end(), is_broken) ||
         std::any_of(tx_.begin(), tx_.end(), is_broken);
}

SharedRing MemifConnection::begin(const Ring& ring, bool interrupts) {
  std::byte* const at = regions_.find(ring.region, ring.offset, SharedRing::bytes(ring.log2_size));
  if (at == nullptr || ring.offset % SharedRing::kAlignment != 0)
    throw MemifRefusal("a ring at byte " + std::to_string(ring.offset) + " of region " +
                       std::to_string(ring.region) + " does not lie there, or not aligned");
  SharedRing shared(at, ring.log2_size);
  if (shared.cookie() != worker::memif::kRingCookie)
    throw MemifRefusal("a ring without memif's cookie");
  shared.begin(interrupts);
  return shared;
}

}  // namespace tributary::dataplane
