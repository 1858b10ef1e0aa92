// A Loader that several threads use from its first load on.
#include "pool/loader/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <thread>

#include "tests/pool/no_threads.h"
#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

constexpr int kThreads = 8;

bool loads(Loader& loader, std::uint64_t id) {
  std::vector<std::byte> target(loader.length(id));
  loader.get_into(id, target);
  const std::string text = StoredPool::text(id);
  return std::equal(target.begin(), target.end(), std::as_bytes(std::span(text)).begin());
}

// True if all threads load a record each at the same time.
bool all_load(Loader& loader) {
  std::barrier start(kThreads);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (std::uint64_t id = 0; id < kThreads; ++id)
    threads.emplace_back([&, id] {
      std::vector<std::byte> buffer(64);
      start.arrive_and_wait();
      loader.register_buffer(buffer);
      good += loads(loader, id) ? 1 : 0;
      loader.unregister_buffer(buffer.data());
    });
  for (std::thread& thread : threads) thread.join();
  return good == kThreads;
}

TEST(PoolLoader, FirstLoadsOfSeveralThreadsShareASession) {
  const StoredPool pool("tributary-loader-first-");
  const PoolConfig config = load_pool_config(pool.config());
  for (int round = 0; round < 30; ++round) {
    Loader loader(config);
    EXPECT_TRUE(all_load(loader));
    EXPECT_EQ(loader.counters().misses, std::uint64_t{kThreads});
  }
}

TEST(PoolLoader, FirstLoadsOfSeveralThreadsOfAChildShareASession) {
  const StoredPool pool("tributary-loader-child-");
  Loader loader(load_pool_config(pool.config()));
  ASSERT_TRUE(all_load(loader));
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      const bool good = all_load(loader) && loader.counters().misses == std::uint64_t{kThreads};
      _exit(good ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST(PoolLoader, L1StoreIsReadByOneThreadWhereNoOtherIsLeft) {
  const StoredPool pool("tributary-loader-threads-");
  Loader loader(load_pool_config(pool.config()));
  std::vector<std::vector<std::byte>> data;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < StoredPool::kRecords; ++id) {
    ids.push_back(id);
    data.emplace_back(loader.length(id));
  }
  const std::vector<std::span<std::byte>> targets(data.begin(), data.end());
  const NoThreads none;
  loader.get_batch(ids, targets);
  EXPECT_EQ(loader.counters().misses, StoredPool::kRecords);
}

TEST(PoolLoader, L1ManifestThatIsTruncatedInPlaceHarmsNoLoader) {
  const StoredPool pool("tributary-loader-manifest-");
  const PoolConfig config = load_pool_config(pool.config());
  Loader loader(config);
  std::filesystem::resize_file(config.dataset.manifest, 0);
  EXPECT_EQ(loader.length(StoredPool::kRecords - 1), StoredPool::kRecords);
  EXPECT_TRUE(loads(loader, 7));
  EXPECT_THROW(Loader again(config), std::runtime_error);
}

}  // namespace
}  // namespace tributary::pool
