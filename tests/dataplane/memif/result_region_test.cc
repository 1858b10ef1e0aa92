// ResultsTimed in memory that a switch writes and its ranks read.
#include "dataplane/memif/result_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "worker/memif/shared_results.h"

namespace tributary::dataplane {
namespace {

namespace memif = worker::memif;
using worker::SharedResults;

constexpr std::size_t kPacket = 1000;
constexpr std::uint32_t kSlots = 4;

memif::ResultReference write(ResultRegion& region, std::byte value, std::size_t bytes = kPacket) {
  const std::span<std::byte> room = region.open();
  std::fill_n(room.begin(), bytes, value);
  return region.publish(bytes);
}

class ResultsTimed : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::byte> read(const memif::ResultReference& at) {
    const auto packet = reader->read(at, room);
    return packet ? std::vector(packet->begin(), packet->end()) : std::vector<std::byte>();
  }

  ResultRegion region{kPacket, kSlots};
  std::shared_ptr<const SharedResults> reader = SharedResults::map(region.share(), region.memory());
  std::vector<std::byte> room;
};

TEST_F(ResultsTimed, T14_WhatIsPublishedIsRead) {
  ASSERT_NE(reader, nullptr);
  for (int i = 1; i < 20; ++i) {
    const auto at = write(region, static_cast<std::byte>(i), 900 + static_cast<std::size_t>(i));
    EXPECT_EQ(read(at), std::vector(900 + static_cast<std::size_t>(i), static_cast<std::byte>(i)));
  }
}

TEST_F(ResultsTimed, ElementsAreAligned) {
  const auto at = write(region, std::byte{1});
  const auto packet = reader->read(at, room);
  ASSERT_TRUE(packet);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packet->data() + wire::kHeaderBytes) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(region.open().data() + wire::kHeaderBytes) % 64, 0u);
}

TEST_F(ResultsTimed, OneThatIsWrittenOverIsNotRead) {
  const auto first = write(region, std::byte{1});
  for (std::uint32_t i = 1; i < kSlots; ++i) write(region, std::byte{2});
  EXPECT_FALSE(read(first).empty());
  ASSERT_FALSE(region.open().empty());
  EXPECT_TRUE(read(first).empty()) << "while it is written over";
  write(region, std::byte{3});
  EXPECT_TRUE(read(first).empty()) << "and afterwards";
}

TEST_F(ResultsTimed, C1_AReferenceToElsewhereIsNotRead) {
  const auto good = write(region, std::byte{1});
  auto at = good;
  at.slot = kSlots;
  EXPECT_TRUE(read(at).empty());
  at = good;
  at.tag = 0;
  EXPECT_TRUE(read(at).empty());
  at = good;
  ++at.slot;
  EXPECT_TRUE(read(at).empty()) << "nothing was written there";
  at = good;
  at.packet_bytes = 0xFFFFFFFF;
  EXPECT_TRUE(read(at).empty());
  at.packet_bytes = static_cast<std::uint32_t>(region.open().size() + 1);
  EXPECT_TRUE(read(at).empty());
}

TEST_F(ResultsTimed, NeitherAreHalvesOfTwo) {
  std::atomic<std::uint64_t> last{0};  // tag of what was published; slots follow from it
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop.load(std::memory_order_relaxed); ++i)
      last.store(write(region, static_cast<std::byte>(i)).tag, std::memory_order_release);
  });
  std::size_t whole = 0;
  for (int i = 0; i < 200'000 || whole == 0; ++i) {
    const std::uint64_t tag = last.load(std::memory_order_acquire);
    if (tag == 0) continue;
    const auto packet =
        read({region.share().region, static_cast<std::uint32_t>((tag - 1) % kSlots), tag, kPacket});
    if (packet.empty()) continue;
    ++whole;
    ASSERT_EQ(packet, std::vector(kPacket, static_cast<std::byte>(tag - 1)));
  }
  stop.store(true);
  writer.join();
}

TEST_F(ResultsTimed, C1_RanksCannotWriteThere) {
  const std::size_t bytes = std::size_t{kSlots} * region.share().slot_bytes;
  EXPECT_EQ(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region.memory(), 0),
            MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(region.memory(), 0), -1);
  EXPECT_EQ(::pwrite(region.memory(), "x", 1, 0), -1);
}

TEST_F(ResultsTimed, MemoryThatIsNotAsTheSwitchSaysIsNotMapped) {
  memif::Share wrong = region.share();
  ++wrong.slots;
  EXPECT_EQ(SharedResults::map(wrong, region.memory()), nullptr);
  wrong = region.share();
  wrong.slot_bytes = 0;
  EXPECT_EQ(SharedResults::map(wrong, region.memory()), nullptr);
  wrong = {region.share().region, 64, 1};
  EXPECT_EQ(SharedResults::map(wrong, region.memory()), nullptr) << "no room for a packet";
  EXPECT_EQ(SharedResults::map(region.share(), -1), nullptr);
  const worker::FileDescriptor loose(::memfd_create("loose", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(loose.get(), static_cast<off_t>(kSlots) * region.share().slot_bytes), 0);
  EXPECT_EQ(SharedResults::map(region.share(), loose.get()), nullptr) << "it could shrink";
}

}  // namespace
}  // namespace tributary::dataplane
