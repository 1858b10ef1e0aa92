#include "worker/agreement/switch_agreement.h"

namespace tributary::worker {
namespace {

// In one number, highest first: low and count of the address bits, and the place, a byte each; then
// the rank. Usable bits are below 32, places below 16.
struct Vote {
  AddressBits bits;
  std::uint32_t place = 0;
  std::uint32_t rank = 0;
};

std::int64_t joined(const Vote& vote) {
  return static_cast<std::int64_t>(std::uint64_t{vote.bits.low} << 48 |
                                   std::uint64_t{vote.bits.count} << 40 |
                                   std::uint64_t{vote.place} << 32 | vote.rank);
}

Vote vote_of(std::int64_t joined) {
  const auto all = static_cast<std::uint64_t>(joined);
  const auto byte = [&](int shift) { return static_cast<std::uint32_t>(all >> shift & 0xFF); };
  return {{byte(48), byte(40)}, byte(32), static_cast<std::uint32_t>(all)};
}

std::string bits_text(const Vote& vote) {
  return "rank " + std::to_string(vote.rank) + " has " + layout::text_of(vote.bits);
}
std::string place_text(const Vote& vote) {
  return "rank " + std::to_string(vote.rank) + " has it at place " + std::to_string(vote.place);
}

}  // namespace

PlaceVote vote_for_place(std::uint32_t place, std::uint32_t rank, const AddressBits& bits) {
  const std::int64_t vote = joined({bits, place, rank});
  return {vote, -vote};
}

std::string why_places_differ(const PlaceVote& maximum, const std::string& address) {
  const Vote largest = vote_of(maximum[0]);
  const Vote smallest = vote_of(-maximum[1]);
  if (largest.bits != smallest.bits)
    return "the ranks choose switches by different address bits: " + bits_text(smallest) + ", " +
           bits_text(largest) + "; all ranks need the same";
  if (largest.place == smallest.place) return {};
  return "the ranks' address lists name " + address +
         " at different places: " + place_text(smallest) + ", " + place_text(largest) +
         " (counted from 0); all ranks need the same list";
}

std::string why_switches_differ(const wire::StartInfo& first, const wire::StartInfo& other) {
  const auto differ = [](const char* what, auto a, auto b) {
    return std::string(what) + " is " + std::to_string(a) + " there and " + std::to_string(b) +
           " here";
  };
  if (first.chunk_bytes != other.chunk_bytes)
    return differ("chunk_bytes", first.chunk_bytes, other.chunk_bytes);
  if (first.partials != other.partials) return differ("partials", first.partials, other.partials);
  if (first.order != other.order) return differ("order", first.order, other.order);
  if (first.arithmetic != other.arithmetic)
    return differ("arithmetic", first.arithmetic, other.arithmetic);
  return {};
}

std::string why_epochs_differ(const wire::StartInfo& first, const wire::StartInfo& next,
                              bool several_switches) {
  wire::StartInfo like = next;
  if (!several_switches) {
    like.chunk_bytes = first.chunk_bytes;
    like.order = first.order;
  }
  const std::string why = why_switches_differ(first, like);
  return why.empty() ? why : "the epoch before had another setting: " + why;
}

}  // namespace tributary::worker
