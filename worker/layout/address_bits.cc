#include "worker/layout/address_bits.h"

#include <bit>
#include <charconv>
#include <stdexcept>

#include "worker/layout/stated_total.h"

namespace tributary {

AddressBits address_bits_of(const std::string& text) {
  AddressBits bits;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, bits.low);
  if (low.ec == std::errc() && low.ptr != end && *low.ptr == ',') {
    const auto count = std::from_chars(low.ptr + 1, end, bits.count);
    if (count.ec == std::errc() && count.ptr == end) return bits;
  }
  throw std::invalid_argument("address bits '" + text +
                              "': allowed are two numbers, LOW,COUNT, as in 16,1");
}

namespace layout {
namespace {

// The bits that a choice takes: 1 for 2 switches, 4 for 9.
std::uint32_t least_count(std::size_t switches) {
  return static_cast<std::uint32_t>(std::bit_width(switches - 1));
}

}  // namespace

std::string text_of(const AddressBits& bits) {
  if (!bits.choose()) return "none";
  return std::to_string(bits.count) + " from bit " + std::to_string(bits.low) + " on";
}

std::string why_unusable(const AddressBits& bits, std::size_t switches) {
  if (bits == AddressBits{}) return {};
  const std::string named =
      "address bits " + std::to_string(bits.low) + "," + std::to_string(bits.count);
  if (switches < 2)
    return named + " with one switch in the address; allowed: several switches, or no address bits";
  const std::uint32_t least = least_count(switches);
  if (bits.count < least || bits.count > kMostStatedBits)
    return named + ": a count of " + std::to_string(bits.count) + " for " +
           std::to_string(switches) + " switches; allowed: " + std::to_string(least) + " to " +
           std::to_string(kMostStatedBits);
  if (bits.low > kMostStatedBits - bits.count)
    return named + ": low and count together are above " + std::to_string(kMostStatedBits) +
           "; allowed: low up to " + std::to_string(kMostStatedBits - bits.count);
  return {};
}

std::string why_too_small(const AddressBits& bits, std::uint32_t chunk_bytes) {
  if (chunk_bytes <= std::uint64_t{1} << bits.low) return {};
  return "address bits " + std::to_string(bits.low) + "," + std::to_string(bits.count) +
         ": blocks of 2^" + std::to_string(bits.low) +
         " bytes are smaller than the job's chunk_bytes, " + std::to_string(chunk_bytes) +
         "; allowed: low " + std::to_string(std::bit_width(chunk_bytes - 1)) + " or more";
}

std::vector<std::vector<std::uint32_t>> chunks_by_switch(const ChunkedArray& array,
                                                         const AddressBits& bits,
                                                         std::size_t switches) {
  std::vector<std::vector<std::uint32_t>> all(switches);
  const std::size_t chunks =
      (array.count + array.elements_per_chunk - 1) / array.elements_per_chunk;
  const std::uint64_t choices = std::uint64_t{1} << bits.count;
  std::uint32_t place = 0;
  for (std::size_t part = 0; part < array.parts; ++part) {
    std::uint64_t at = array.address + part * array.count * array.element_bytes;
    for (std::size_t i = 0; i < chunks; ++i, at += array.elements_per_chunk * array.element_bytes)
      all[(at >> bits.low) % choices % switches].push_back(place++);
  }
  return all;
}

}  // namespace layout
}  // namespace tributary
