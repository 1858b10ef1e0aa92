#include "dataplane/port/peer_memory.h"

#include <gtest/gtest.h>
#include <rte_malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>

#include "dataplane/port/fault_guard.h"
#include "tests/dataplane/ring_switch.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::dataplane {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBytes = 4 * kPage;

// A file that is mapped, and then is too short.
class LostFile {
 public:
  explicit LostFile(int flags, const char* name = "a file")
      : file_(::memfd_create(name, MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(file_.get(), kBytes), 0);
    memory_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file_.get(), 0);
    EXPECT_NE(memory_, MAP_FAILED);
    bytes()[0] = 1;
    EXPECT_EQ(::ftruncate(file_.get(), 0), 0);
  }
  ~LostFile() { ::munmap(memory_, kBytes); }
  LostFile(const LostFile&) = delete;
  LostFile& operator=(const LostFile&) = delete;

  [[nodiscard]] volatile char* bytes() const { return static_cast<char*>(memory_); }

 private:
  worker::FileDescriptor file_;
  void* memory_ = nullptr;
};

// On any thread, whatever that is doing.
TEST(PeerMemory, C1_ZerosTakeThePlaceOfAWholeMapping) {
  install_fault_handlers();
  const LostFile file(MAP_SHARED);
  const LostFile other(MAP_SHARED, "rw-s 0 / of a very long name that does not matter to anybody");
  file.bytes()[2 * kPage] = 3;
  EXPECT_EQ(file.bytes()[2 * kPage], 3);
  EXPECT_EQ(watched([&] { EXPECT_EQ(file.bytes()[0], 0); }), Guarded::intact) << "it is there now";
  EXPECT_EQ(watched([&] { other.bytes()[kPage] = 1; }), Guarded::stood_in);
}

TEST(PeerMemory, WhatIsThereByNowIsLeftAsItIs) {
  open_mappings();
  const LostFile file(MAP_SHARED);
  EXPECT_TRUE(stand_in_for_peer(const_cast<char*>(file.bytes())));
  file.bytes()[0] = 7;
  EXPECT_TRUE(stand_in_for_peer(const_cast<char*>(file.bytes()))) << "the second of two threads";
  EXPECT_EQ(file.bytes()[0], 7);
}

TEST(PeerMemory, OurOwnIsNobodysToTakeAway) {
  start_test_eal();
  open_mappings();
  const LostFile file(MAP_PRIVATE);
  EXPECT_FALSE(stand_in_for_peer(const_cast<char*>(file.bytes())));
  void* const memory = rte_malloc(nullptr, 64, 0);
  EXPECT_FALSE(stand_in_for_peer(memory));
  rte_free(memory);
  EXPECT_FALSE(stand_in_for_peer(nullptr));
}

TEST(PeerMemoryDeathTest, C1_AFileThatNoPeerSharesStillKills) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto touch = [] {
    install_fault_handlers();
    const LostFile file(MAP_PRIVATE);
    EXPECT_EQ(watched([&] { file.bytes()[kPage] = 1; }), Guarded::intact);
  };
  EXPECT_EXIT(touch(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace tributary::dataplane
