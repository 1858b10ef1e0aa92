#include "core/digest.h"

#include <array>
#include <bit>
#include <cstring>

namespace tributary {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ull;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ull;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ull;
constexpr std::size_t kStripe = 32;

static_assert(std::endian::native == std::endian::little, "XXH64 reads little-endian words");

template <typename Word>
Word take(std::span<const std::byte>& bytes) {
  Word word;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes = bytes.subspan(sizeof word);
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t lane) {
  return (hash ^ round(0, lane)) * kPrime1 + kPrime4;
}

std::uint64_t take_stripes(std::span<const std::byte>& bytes, std::uint64_t seed) {
  std::array<std::uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed,
                                        seed - kPrime1};
  while (bytes.size() >= kStripe)
    for (auto& lane : lanes) lane = round(lane, take<std::uint64_t>(bytes));
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const auto lane : lanes) hash = merge(hash, lane);
  return hash;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::size_t length = bytes.size();
  std::uint64_t hash = length >= kStripe ? take_stripes(bytes, seed) : seed + kPrime5;
  hash += length;
  while (bytes.size() >= 8)
    hash = std::rotl(hash ^ round(0, take<std::uint64_t>(bytes)), 27) * kPrime1 + kPrime4;
  if (bytes.size() >= 4)
    hash = std::rotl(hash ^ take<std::uint32_t>(bytes) * kPrime1, 23) * kPrime2 + kPrime3;
  for (const std::byte byte : bytes)
    hash = std::rotl(hash ^ static_cast<std::uint64_t>(byte) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace tributary
