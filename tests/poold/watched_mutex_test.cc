// A mutex whose holder does not let go of it is told from one that is taken all the time.
#include "tools/poold/watched_mutex.h"

#include <gtest/gtest.h>

#include <thread>

namespace tributary::poold {
namespace {

TEST(WatchedMutexTimed, MovesWhileItIsFreeOrChangesHands) {
  WatchedMutex mutex;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(mutex.moves()) << "free";
  mutex.lock();
  std::thread other([&] {
    EXPECT_TRUE(mutex.moves()) << "taken since";
    EXPECT_FALSE(mutex.moves()) << "held, and by the same holder";
    EXPECT_FALSE(mutex.moves());
  });
  other.join();
  mutex.unlock();
  EXPECT_TRUE(mutex.moves());
  mutex.lock();
  mutex.unlock();
  mutex.lock();
  std::thread third([&] { EXPECT_TRUE(mutex.moves()) << "taken since, though held now"; });
  third.join();
  mutex.unlock();
}

}  // namespace
}  // namespace tributary::poold
