// Loads in the background: all of them, each with a word of its own at its end (L2).
#include "pool/loader/async_loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>

#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class PoolAsyncLoaderTimed : public testing::Test {
 protected:
  StoredPool stored_{"async"};
  Loader loader_{load_pool_config(stored_.config())};
};

TEST_F(PoolAsyncLoaderTimed, L2EachRequestEndsOnceAndItsRecordsAreThere) {
  std::vector<std::vector<std::byte>> data;
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id) data.emplace_back(loader_.length(id));
  std::atomic<int> good{0};
  AsyncLoader async(loader_, 4);  // the queue is shorter than what is asked
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id)
    async.get_batch({id}, {data[id]}, [&](const std::exception_ptr& problem) {
      if (!problem) ++good;
    });
  async.wait();
  EXPECT_EQ(good, static_cast<int>(StoredPool::kRecords));
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id)
    EXPECT_EQ(text_of(data[id]), StoredPool::text(id));
}

TEST_F(PoolAsyncLoaderTimed, L2OneUnreadableRecordFailsItsOwnRequestAlone) {
  std::filesystem::remove(stored_.file(7));
  std::vector<std::vector<std::byte>> data;
  for (std::uint64_t id = 0; id < 12; ++id) data.emplace_back(loader_.length(id));
  std::vector<std::vector<std::uint64_t>> failed(4);
  std::atomic<int> ended{0};
  {
    AsyncLoader async(loader_);
    for (std::uint64_t first = 0; first < 12; first += 3)
      async.get_batch({first, first + 1, first + 2},
                      {data[first], data[first + 1], data[first + 2]},
                      [&, first](const std::exception_ptr& problem) {
                        ++ended;
                        if (!problem) return;
                        try {
                          std::rethrow_exception(problem);
                        } catch (const LoadError& error) {
                          failed[first / 3] = error.ids();
                        }
                      });
  }  // ends what was begun
  EXPECT_EQ(ended, 4);
  EXPECT_EQ(failed, (std::vector<std::vector<std::uint64_t>>{{}, {}, {7}, {}}));
  EXPECT_EQ(text_of(data[8]), StoredPool::text(8));
}

TEST_F(PoolAsyncLoaderTimed, BadRequestsAreRefusedAtOnce) {
  std::vector<std::byte> target(1);
  AsyncLoader async(loader_);
  const auto never = [](const std::exception_ptr&) { FAIL() << "done() of a refused request"; };
  EXPECT_THROW(async.get_batch({StoredPool::kRecords}, {target}, never), std::out_of_range);
  EXPECT_THROW(async.get_batch({5}, {target}, never), std::length_error);
  EXPECT_THROW(async.get_batch({0, 1}, {target}, never), std::length_error);
  async.wait();
}

TEST_F(PoolAsyncLoaderTimed, ChildrenOfAForkHaveAQueueOfTheirOwn) {
  std::vector<std::byte> target(1);
  AsyncLoader async(loader_);
  const auto load = [&] {
    bool good = false;
    async.get_batch({0}, {target}, [&](const std::exception_ptr& problem) { good = !problem; });
    async.wait();
    return good;
  };
  EXPECT_TRUE(load());
  const pid_t child = fork();
  if (child == 0) _exit(load() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(load());
}

}  // namespace
}  // namespace tributary::pool
