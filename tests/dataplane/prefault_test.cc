// Memory that the kernel has given before it is used: the design's "all memory at start" (O9).
#include "dataplane/prefault.h"

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "dataplane/frame_pool.h"
#include "dataplane/page_memory.h"

namespace tributary::dataplane {
namespace {

// Of the pages that `memory` lies on, those that the kernel has given.
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
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(resident(slots.bytes()), (slots.bytes().size() + page - 1) / page);

  const FramePool pool({600, 9216 + RTE_PKTMBUF_HEADROOM});
  std::vector<rte_mbuf*> frames(500);
  ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), frames.data(), 500), 0);
  for (const rte_mbuf* frame : frames) {
    const std::span<std::byte> room(static_cast<std::byte*>(frame->buf_addr), frame->buf_len);
    EXPECT_GE(resident(room), 3u);
    EXPECT_EQ(
        resident(room),
        (reinterpret_cast<std::uintptr_t>(room.data()) % page + room.size() + page - 1) / page);
  }
  rte_pktmbuf_free_bulk(frames.data(), 500);
}

}  // namespace
}  // namespace tributary::dataplane
