// The ends of real connections are in port_burst_test.cc.
#include "dataplane/port/memif_disconnect.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "dataplane/host/interrupt_thread.h"
#include "dataplane/port/fault_guard.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {
namespace {

// `end` is something that the interrupt thread does while a call is inside; true: it was not done
// before the call had ended, and then it was.
bool waits_for_the_call(const std::function<void()>& end) {
  start_test_eal();
  install_fault_handlers();
  std::atomic<bool> inside{false};
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  std::thread thread([&] {
    on_interrupt_thread([&] {
      begun.store(true);
      while (!inside.load()) sched_yield();
      end();
      ended.store(true);
    });
  });
  // That thread has others to close, too, between its handlers.
  while (!begun.load()) sched_yield();
  bool early = false;
  EXPECT_EQ(guarded([&] {
              inside.store(true);
              using Clock = std::chrono::steady_clock;
              const auto long_after = Clock::now() + std::chrono::milliseconds(50);
              while (Clock::now() < long_after) early = early || ended.load();
            }),
            Guarded::intact);
  thread.join();
  return !early && ended.load();
}

TEST(MemifDisconnectTimed, C1_MemoryIsUnmappedWhenNoBurstIsInside) {
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  EXPECT_TRUE(waits_for_the_call([&] { EXPECT_EQ(munmap(page, 4096), 0); }));
  unsigned char resident = 0;
  EXPECT_NE(mincore(page, 4096, &resident), 0) << "it is there yet";
}

TEST(MemifDisconnectTimed, C1_DescriptorsAreClosedWhenNoBurstIsInside) {
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_TRUE(waits_for_the_call([&] { EXPECT_EQ(close(descriptor), 0); }));
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1) << "it is open yet";
}

TEST(MemifDisconnectTimed, OtherThreadsDoNotWait) {
  install_fault_handlers();
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(guarded([&] {
              std::thread([&] {
                EXPECT_EQ(munmap(page, 4096), 0);
                EXPECT_EQ(close(descriptor), 0);
              }).join();
            }),
            Guarded::intact);
}

}  // namespace
}  // namespace tributary::dataplane
