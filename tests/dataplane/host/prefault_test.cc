// Memory that the kernel has given before it is used: the design's "all memory at start" (O9).
#include "dataplane/host/prefault.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "dataplane/frame/frame_pool.h"
#include "dataplane/host/page_memory.h"

namespace tributary::dataplane {
namespace {

// Number of the pages of `memory` that the kernel has given.
std::size_t resident(std::span<std::byte> memory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  std::vector<unsigned char> pages((memory.size() + before + page - 1) / page);
  if (mincore(memory.data() - before, memory.size() + before, pages.data()) != 0) return 0;
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

class Mapping {
 public:
  explicit Mapping(std::size_t pages)
      : bytes_(pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        at_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapping() { munmap(at_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(at_), bytes_};
  }

 private:
  std::size_t bytes_;
  void* at_;
};

std::size_t pages_of(std::span<std::byte> memory) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (reinterpret_cast<std::uintptr_t>(memory.data()) % page + memory.size() + page - 1) / page;
}

std::span<std::byte> room_of(const rte_mbuf& frame) {
  return {static_cast<std::byte*>(frame.buf_addr), frame.buf_len};
}

// Every page of every buffer.
bool is_there(const FramePool& pool) {
  std::vector<rte_mbuf*> frames(pool.buffers());
  const auto count = static_cast<unsigned>(frames.size());
  if (rte_pktmbuf_alloc_bulk(pool.get(), frames.data(), count) != 0) return false;
  const bool all = std::all_of(frames.begin(), frames.end(), [](const rte_mbuf* frame) {
    return resident(room_of(*frame)) == pages_of(room_of(*frame));
  });
  rte_pktmbuf_free_bulk(frames.data(), count);
  return all;
}

TEST(Prefault, GivesTheFirstAndTheLastPageOfWhatBeginsWithinOne) {
  const Mapping mapping(5);
  const auto page = mapping.bytes().size() / 5;
  ASSERT_EQ(resident(mapping.bytes()), 0u);
  mapping.bytes()[page] = std::byte{7};
  ASSERT_TRUE(prefault(mapping.bytes().subspan(2 * page - 1, page + 2)));
  EXPECT_EQ(resident(mapping.bytes()), 3u);
  EXPECT_EQ(mapping.bytes()[page], std::byte{7});
  EXPECT_TRUE(prefault(std::span<std::byte>()));
}

TEST(Prefault, FailsWhereThereIsNothingToGive) {
  const Mapping mapping(2);
  const auto half = mapping.bytes().size() / 2;
  ASSERT_EQ(munmap(mapping.bytes().data() + half, half), 0);
  EXPECT_FALSE(prefault(mapping.bytes()));
}

TEST(Prefault, O9_SlotsAndPacketBuffersAreThereFromTheStart) {
  const PageMemory slots((std::size_t{5} << 20) + 100);
  EXPECT_EQ(resident(slots.bytes()), pages_of(slots.bytes()));

  const FramePool pool({600, 9216 + RTE_PKTMBUF_HEADROOM});
  EXPECT_TRUE(is_there(pool));
}

// What earlier tests have used is there in any case, so here it is taken away first.
TEST(Prefault, O9_OfAPoolWithHolesEveryPageIsGiven) {
  const FramePool pool({600, 9216 + RTE_PKTMBUF_HEADROOM});
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  rte_mbuf* const frame = rte_pktmbuf_alloc(pool.get());
  ASSERT_NE(frame, nullptr);
  const std::span<std::byte> room = room_of(*frame);
  const auto within = page - reinterpret_cast<std::uintptr_t>(room.data()) % page;
  ASSERT_EQ(madvise(room.data() + within, page, MADV_REMOVE), 0);
  rte_pktmbuf_free(frame);
  EXPECT_FALSE(is_there(pool));
  EXPECT_TRUE(prefault_pool(pool.get()));
  EXPECT_TRUE(is_there(pool));
}

}  // namespace
}  // namespace tributary::dataplane
