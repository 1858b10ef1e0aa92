#include "worker/agreement/switch_agreement.h"

namespace tributary::worker {
namespace {

std::int64_t joined(std::uint32_t place, std::uint32_t rank) {
  return static_cast<std::int64_t>(std::uint64_t{place} << 32 | rank);
}

std::string text_of(std::int64_t vote) {
  const auto bits = static_cast<std::uint64_t>(vote);
  return "rank " + std::to_string(bits & 0xFFFFFFFF) + " has it at place " +
         std::to_string(bits >> 32);
}

}  // namespace

PlaceVote vote_for_place(std::uint32_t place, std::uint32_t rank) {
  return {joined(place, rank), -joined(place, rank)};
}

std::string why_places_differ(const PlaceVote& maximum, const std::string& address) {
  const std::int64_t largest = maximum[0];
  const std::int64_t smallest = -maximum[1];
  if (largest >> 32 == smallest >> 32) return {};
  return "the ranks' address lists name " + address + " at different places: " + text_of(smallest) +
         ", " + text_of(largest) + " (counted from 0); all ranks need the same list";
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
