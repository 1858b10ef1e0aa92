#include "dataplane/memif/lent.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace tributary::dataplane {
namespace {

TEST(LentTimed, WhatIsNotThereIsNotUsed) {
  Lent<int> lent;
  EXPECT_FALSE(lent.use([](int&) { FAIL(); }));
  int thing = 1;
  lent.lend(thing);
  EXPECT_TRUE(lent.use([](int& it) { ++it; }));
  EXPECT_EQ(thing, 2);
  lent.take_back();
  EXPECT_FALSE(lent.use([](int&) { FAIL(); }));
}

TEST(LentTimed, C1_IsTakenBackBetweenTwoTurns) {
  Lent<int> lent;
  int thing = 1;
  lent.lend(thing);
  std::atomic<bool> inside{false};
  std::atomic<bool> asked{false};
  std::atomic<bool> back{false};
  std::thread user([&] {
    lent.use([&](int& it) {
      inside.store(true);
      while (!asked.load()) sched_yield();
      for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(back.load()) << "the turn lasts";
        ++it;
        sched_yield();
      }
    });
  });
  while (!inside.load()) sched_yield();
  asked.store(true);
  lent.take_back();
  back.store(true);
  EXPECT_EQ(thing, 1001);
  user.join();
}

TEST(LentTimed, ATurnMayGoOn) {
  Lent<int> lent;
  EXPECT_EQ(lent.begin(), nullptr);
  lent.take_back();  // there is no turn
  int thing = 1;
  lent.lend(thing);
  ASSERT_EQ(lent.begin(), &thing);
  std::atomic<bool> asks{false};
  std::atomic<bool> ended{false};
  std::thread owner([&] {
    asks.store(true);
    lent.take_back();
    EXPECT_TRUE(ended.load());
  });
  while (!asks.load()) sched_yield();
  for (int i = 0; i < 1000; ++i) sched_yield();
  ended.store(true);
  lent.end();
  owner.join();
}

TEST(LentTimed, GivesAndTakesWhileItIsUsed) {
  Lent<int> lent;
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop.load())
      lent.use([](int& it) {
        EXPECT_EQ(it, 1);
        it = 1;
      });
  });
  for (int i = 0; i < 2000; ++i) {
    int thing = 1;
    lent.lend(thing);
    lent.take_back();
    thing = 0;
    EXPECT_EQ(thing, 0);
  }
  stop.store(true);
  user.join();
}

}  // namespace
}  // namespace tributary::dataplane
