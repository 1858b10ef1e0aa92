#include "core/digest.h"

#include <algorithm>
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

void take_stripes(std::span<const std::byte>& bytes, Xxh64::Lanes& lanes) {
  while (bytes.size() >= kStripe)
    for (auto& lane : lanes) lane = round(lane, take<std::uint64_t>(bytes));
}

std::uint64_t merged(const Xxh64::Lanes& lanes) {
  std::uint64_t hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
                       std::rotl(lanes[3], 18);
  for (const auto lane : lanes) hash = merge(hash, lane);
  return hash;
}

// `bytes`: what is left, less than a stripe.
std::uint64_t finish(std::uint64_t hash, std::span<const std::byte> bytes) {
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

}  // namespace

Xxh64::Lanes Xxh64::first_lanes(std::uint64_t seed) {
  return {seed + kPrime1 + kPrime2, seed + kPrime2, seed, seed - kPrime1};
}

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed) {
  const std::size_t length = bytes.size();
  if (length < kStripe) return finish(seed + kPrime5 + length, bytes);
  Xxh64::Lanes lanes = Xxh64::first_lanes(seed);
  take_stripes(bytes, lanes);
  return finish(merged(lanes) + length, bytes);
}

void Xxh64::add(std::span<const std::byte> part) {
  bytes_ += part.size();
  const auto keep = [this](std::span<const std::byte> some) {
    std::copy(some.begin(), some.end(), rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
    rest_bytes_ += some.size();
  };
  if (rest_bytes_ != 0) {
    const std::size_t lacks = std::min(kStripe - rest_bytes_, part.size());
    keep(part.first(lacks));
    part = part.subspan(lacks);
    if (rest_bytes_ < kStripe) return;
    std::span<const std::byte> stripe = rest_;
    take_stripes(stripe, lanes_);
    rest_bytes_ = 0;
  }
  take_stripes(part, lanes_);
  keep(part);
}

std::uint64_t Xxh64::value() const {
  const auto rest = std::span(rest_).first(rest_bytes_);
  return finish((bytes_ < kStripe ? kPrime5 : merged(lanes_)) + bytes_, rest);
}

}  // namespace tributary
