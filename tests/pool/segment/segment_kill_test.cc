// A process that dies while it writes to a segment: a page of the memory is read-only, so the write
// to it ends the process. Each page is tried, so every order of writes across pages shows (L4).
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "core/prng.h"
#include "pool/segment/segment.h"

namespace tributary::pool {
namespace {

const Segment::Owner kOwner{"train", "a", 42, 100, 4000};
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 16;

std::vector<std::byte> data_of(std::uint64_t id, std::size_t bytes) {
  Prng prng(id);
  std::vector<std::byte> data(bytes);
  for (auto& b : data) b = static_cast<std::byte>(prng.next());
  return data;
}

// Memory that a process and its children share.
struct SharedMemory {
  SharedMemory()
      : at(mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                0)) {
    EXPECT_NE(at, MAP_FAILED);
  }
  ~SharedMemory() { munmap(at, kPages * kPage); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(at), kPages * kPage};
  }
  void* at;
};

struct Found {
  explicit Found(std::span<std::byte> memory)
      : segment(memory, kOwner, 77, [this](const PlacedRecord& record) {
          records[record.id] = record;
          return true;
        }) {}
  std::map<std::uint64_t, PlacedRecord> records;
  Segment segment;
};

// What a node does that drops record 2 and takes two others, until it dies.
[[noreturn]] void write_until_death(std::span<std::byte> memory, std::size_t page) {
  std::signal(SIGSEGV, SIG_DFL);  // sanitizers have a handler that reports
  Found node(memory);
  const auto large = data_of(4, 9000);
  const auto small = data_of(5, 100);
  mprotect(memory.data() + page * kPage, kPage, PROT_READ);
  node.segment.release(node.segment.remove(node.records.at(2)));
  const bool stored = node.segment.put(4, large) && node.segment.put(5, small);
  _exit(stored ? 0 : 1);
}

TEST(PoolSegmentKillTimed, L4EveryRecordFoundAfterADeathIsWhole) {
  const SharedMemory shared;
  const auto memory = shared.bytes();
  {
    Segment first(memory, kOwner, 5, [](const PlacedRecord&) { return true; });
    ASSERT_TRUE(first.put(1, data_of(1, 3000)));
    ASSERT_TRUE(first.put(2, data_of(2, 9000)));
    ASSERT_TRUE(first.put(3, data_of(3, 3000)));
  }
  const std::vector<std::byte> before(memory.begin(), memory.end());
  int deaths = 0;
  for (std::size_t page = 0; page < kPages; ++page) {
    SCOPED_TRACE("page " + std::to_string(page));
    std::memcpy(memory.data(), before.data(), before.size());
    const pid_t child = fork();
    if (child == 0) write_until_death(memory, page);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    deaths += WIFSIGNALED(status) ? 1 : 0;
    Found found(memory);
    EXPECT_TRUE(found.segment.taken_over());
    EXPECT_TRUE(found.records.contains(1) && found.records.contains(3));
    if (!WIFSIGNALED(status)) {
      EXPECT_EQ(found.records.size(), 4u);
    }
    for (const auto& [id, record] : found.records) {
      EXPECT_TRUE(found.segment.intact(record)) << "record " << id;
      const auto data = found.segment.data(record);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), data_of(id, record.length).begin()));
    }
  }
  EXPECT_GE(deaths, 3) << "in the index, and in each page of the record";
}

}  // namespace
}  // namespace tributary::pool
