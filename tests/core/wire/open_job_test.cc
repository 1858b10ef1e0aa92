// A1, A4: task information in a JOIN, and all that it may not be.
#include "core/wire/open_job.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::wire {
namespace {

std::optional<OpenJob> read(std::span<const std::byte> data, std::uint16_t inline_value = 0,
                            ExtensionType type = ExtensionType::open_job) {
  return read_open_job({type, false, inline_value, data});
}

std::array<std::byte, 8> bytes_of(std::uint16_t units, std::uint16_t nodes, std::uint16_t window,
                                  std::uint16_t chunk_bytes) {
  std::array<std::byte, 8> data;
  std::size_t at = 0;
  for (const std::uint16_t number : {units, nodes, window, chunk_bytes}) {
    data[at++] = static_cast<std::byte>(number >> 8);
    data[at++] = static_cast<std::byte>(number & 0xFF);
  }
  return data;
}

TEST(OpenJob, A4_WhatIsWrittenIsRead) {
  const OpenJob job{2, 3, 64, 1024};
  std::array<std::byte, 32> room;
  ExtensionWriter writer(room);
  ASSERT_TRUE(add_open_job(writer, job));
  EXPECT_EQ(check_extensions(writer.bytes()), DropReason::none);
  const auto found = find_extension(writer.bytes(), ExtensionType::open_job);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->critical) << "a switch without such jobs says that it has none";
  EXPECT_EQ(read_open_job(*found), job);
  EXPECT_EQ(job.workers(), 6u);
  EXPECT_EQ((OpenJob{65535, 65535, 1, 8}.workers()), 65535u * 65535u);
}

TEST(OpenJob, A4_AnotherLengthOrInlineValueIsNone) {
  const auto data = bytes_of(2, 3, 64, 1024);
  EXPECT_TRUE(read(data));
  EXPECT_FALSE(read(std::span(data).first(4)));
  EXPECT_FALSE(read({}));
  std::array<std::byte, 12> longer{};
  std::copy(data.begin(), data.end(), longer.begin());
  EXPECT_FALSE(read(longer));
  EXPECT_FALSE(read(data, 1));
  EXPECT_FALSE(read(data, 0, ExtensionType::drain));
}

TEST(OpenJob, A4_ValuesThatNoJobHasAreNone) {
  EXPECT_FALSE(read(bytes_of(0, 3, 64, 1024)));
  EXPECT_FALSE(read(bytes_of(2, 0, 64, 1024)));
  EXPECT_FALSE(read(bytes_of(2, 3, 0, 1024)));
  EXPECT_FALSE(read(bytes_of(2, 3, 65, 1024)));
  EXPECT_FALSE(read(bytes_of(2, 3, 64, 0)));
  EXPECT_FALSE(read(bytes_of(2, 3, 64, 1020)));
  EXPECT_TRUE(read(bytes_of(65535, 65535, 32768, 65528)));
}

}  // namespace
}  // namespace tributary::wire
