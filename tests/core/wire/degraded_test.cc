#include "core/wire/degraded.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/wire/header.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::wire {
namespace {

using Words = std::vector<std::uint64_t>;

std::vector<std::byte> listed(std::uint32_t counted, const Words& missing) {
  std::vector<std::byte> room(kMaxExtensionBytes);
  ExtensionWriter writer(room);
  EXPECT_TRUE(add_degraded_list(writer, counted, missing));
  return {writer.bytes().begin(), writer.bytes().end()};
}
// The words as they are: u32 counted, first rank, bitmap words.
std::vector<std::byte> raw(std::uint16_t words, const std::vector<std::uint32_t>& data) {
  std::vector<std::byte> room(kMaxExtensionBytes);
  ExtensionWriter writer(room);
  std::vector<be32> wire(data.begin(), data.end());
  EXPECT_TRUE(writer.add_raw(static_cast<std::uint8_t>(ExtensionType::degraded_list), words,
                             std::as_bytes(std::span(wire))));
  return {writer.bytes().begin(), writer.bytes().end()};
}
std::optional<std::uint32_t> read(std::span<const std::byte> area, std::uint32_t workers,
                                  Words& missing) {
  missing.assign(rank_words(workers), ~std::uint64_t{0});
  return read_degraded_list(area, workers, missing);
}

TEST(WireDegraded, Rule21_SaysWhoIsMissingAndHowManyAreCounted) {
  Words got;
  EXPECT_EQ(read(listed(3, {0b0100}), 4, got), 3u);
  EXPECT_EQ(got, Words{0b0100});
  Words far(16);
  far[1] = 1;
  far[15] = std::uint64_t{1} << 63;
  EXPECT_EQ(read(listed(1022, far), 1024, got), 1022u);
  EXPECT_EQ(got, far);
}

TEST(WireDegraded, Rule21_TheLargestJobsListFits) {
  Words all_but_one(16, ~std::uint64_t{0});
  all_but_one[0] &= ~std::uint64_t{1};
  const auto area = listed(1, all_but_one);
  EXPECT_EQ(area.size(), 4u + 4 + 4 + 32 * 4);
  Words got;
  EXPECT_EQ(read(area, 1024, got), 1u);
}

TEST(WireDegraded, Rule21_AListThatIsNotTrueToItselfIsNone) {
  Words got;
  EXPECT_EQ(read({}, 4, got), std::nullopt);
  EXPECT_EQ(read(raw(1, {3, 0, 0b0100}), 4, got), 3u);
  EXPECT_EQ(read(raw(1, {2, 0, 0b0100}), 4, got), std::nullopt) << "somebody is neither";
  EXPECT_EQ(read(raw(1, {4, 0, 0b0100}), 4, got), std::nullopt) << "somebody is both";
  EXPECT_EQ(read(raw(1, {4, 0, 0}), 4, got), std::nullopt) << "nobody is missing";
  EXPECT_EQ(read(raw(1, {0, 0, 0b1111}), 4, got), std::nullopt) << "nobody is counted";
  EXPECT_EQ(read(raw(1, {3, 0, 0b10000}), 4, got), std::nullopt) << "outside the job";
  EXPECT_EQ(read(raw(1, {3, 0xFFFFFFFF, 2}), 4, got), std::nullopt) << "past all numbers";
  EXPECT_EQ(read(raw(1, {0xFFFFFFFF, 0, 0b0100}), 4, got), std::nullopt);
  EXPECT_EQ(read(raw(2, {3, 0, 0b0100}), 4, got), std::nullopt) << "fewer words than it says";
  EXPECT_EQ(read(raw(0, {3, 0, 0b0100}), 4, got), std::nullopt) << "more words than it says";
  EXPECT_EQ(read(raw(0, {4}), 4, got), std::nullopt);
  EXPECT_EQ(read(raw(0, {}), 4, got), std::nullopt);
}

TEST(WireDegraded, WhatDoesNotFitIsNotWritten) {
  std::array<std::byte, 12> room;
  ExtensionWriter writer(room);
  EXPECT_FALSE(add_degraded_list(writer, 3, Words{0b0100}));
  EXPECT_TRUE(writer.bytes().empty());
}

}  // namespace
}  // namespace tributary::wire
