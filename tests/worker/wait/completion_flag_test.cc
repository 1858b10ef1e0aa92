#include "worker/wait/completion_flag.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <thread>

namespace tributary::worker {
namespace {

TEST(CompletionFlagTimed, WaitsUntilSetAndPublishesWhatCameBefore) {
  CompletionFlag flag;
  EXPECT_FALSE(flag.is_set());
  EXPECT_FALSE(flag.wait_for(Duration()));
  int value = 0;
  std::thread setter([&] {
    value = 7;
    flag.set();
  });
  while (!flag.wait_for(Duration::seconds(60))) {
  }
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(flag.wait_for(Duration()));
  setter.join();
}

TEST(CompletionFlagTimed, WakesEveryWaiter) {
  CompletionFlag flag;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] {
      while (!flag.wait_for(Duration::seconds(60))) {
      }
    });
  flag.set();
  for (auto& t : waiters) t.join();
}

// An interpreter must get control back to run its handlers.
TEST(CompletionFlagTimed, SignalHandlerEndsAWaitEarly) {
  static std::atomic<bool> handled{false};
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { handled = true; };
  sigaction(SIGUSR1, &action, &before);
  CompletionFlag flag;
  std::atomic<bool> returned{false};
  std::thread waiter([&] {
    EXPECT_FALSE(flag.wait_for(Duration::seconds(3600)));
    returned = true;
  });
  // A signal before the wait begins would not interrupt it: repeat until it has.
  while (!returned) {
    pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  waiter.join();
  EXPECT_TRUE(handled);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace tributary::worker
