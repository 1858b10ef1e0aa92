#include "dataplane/port/fault_guard.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <thread>

namespace tributary::dataplane {
namespace {

volatile int sink;

// ThreadSanitizer runs handlers within its own, which cannot be left by a jump.
#ifndef __SANITIZE_THREAD__

TEST(FaultGuardTimed, SurvivesMemoryThatVanished) {
  install_fault_handlers();
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* value = static_cast<volatile int*>(page);
  EXPECT_EQ(guarded([&] { sink = *value; }), Guarded::intact);
  munmap(page, 4096);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(guarded([&] { sink = *value; }), Guarded::cut_short);
  EXPECT_EQ(guarded([] { sink = 1; }), Guarded::intact);
  EXPECT_TRUE(await_guarded_calls()) << "those that were left have ended";
}

#endif

constexpr std::uint32_t kForever = 0xFFFFFFFF;

TEST(FaultGuardTimed, C1_WhoUnmapsWaitsForCallsThatHaveBegun) {
  std::binary_semaphore begun{0};
  std::binary_semaphore end{0};
  std::thread thread([&] {
    EXPECT_EQ(guarded([] {}), Guarded::intact);
    EXPECT_EQ(guarded([&] {
                begun.release();
                end.acquire();
              }),
              Guarded::intact);
  });
  begun.acquire();
  EXPECT_FALSE(await_guarded_calls(1));
  EXPECT_FALSE(await_guarded_calls(kForever)) << "it has been given up";
  end.release();
  thread.join();
  EXPECT_TRUE(await_guarded_calls(0));
}

TEST(FaultGuardTimed, C1_WhoUnmapsDoesNotWaitForALoopToStop) {
  std::atomic<bool> stopping{false};
  std::binary_semaphore begun{0};
  std::thread thread([&] {
    EXPECT_EQ(guarded([&] { begun.release(); }), Guarded::intact);
    while (!stopping.load()) EXPECT_EQ(guarded([] {}), Guarded::intact);
  });
  begun.acquire();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(await_guarded_calls(kForever));
  stopping.store(true);
  thread.join();
}

// The call ends, whatever it had begun.
TEST(FaultGuardTimed, ACallEndsWithoutTheFileThatWasTruncated) {
  install_fault_handlers();
  const int fd = memfd_create("guard", 0);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto* value = static_cast<volatile int*>(page);
  EXPECT_EQ(guarded([&] { sink = *value; }), Guarded::intact);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  bool ended = false;
  EXPECT_EQ(guarded([&] {
              sink = *value;
              ended = true;
            }),
            Guarded::stood_in);
  EXPECT_TRUE(ended);
  EXPECT_EQ(sink, 0);
  EXPECT_EQ(guarded([&] { sink = *value; }), Guarded::intact) << "something is there now";
  munmap(page, 4096);
  close(fd);
}

TEST(FaultGuardTimedDeathTest, OtherFaultsStillKill) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        install_fault_handlers();
        void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sink = *static_cast<volatile int*>(page);
      },
      "");
}

}  // namespace
}  // namespace tributary::dataplane
