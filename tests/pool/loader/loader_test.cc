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

TEST(PoolLoaderTimed, FirstLoadsOfSeveralThreadsShareASession) {
  const StoredPool pool("tributary-loader-first-");
  const PoolConfig config = load_pool_config(pool.config());
  for (int round = 0; round < 30; ++round) {
    Loader loader(config);
    EXPECT_TRUE(all_load(loader));
    EXPECT_EQ(loader.counters().misses, std::uint64_t{kThreads});
  }
}

TEST(PoolLoaderTimed, FirstLoadsOfSeveralThreadsOfAChildShareASession) {
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

TEST(PoolLoaderTimed, L1StoreIsReadByOneThreadWhereNoOtherIsLeft) {
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

// Entries of tar files are looked up in the manifest's bytes.
TEST(PoolLoaderTimed, L1ManifestThatIsTruncatedInPlaceStaysWhole) {
  const std::string path = testing::TempDir() + "tributary-manifest-" + std::to_string(getpid());
  const std::vector<ManifestEntry> entries = {{512, 100, 0}};
  write_manifest_file(path, write_manifest(Format::tar, 0, 0, {{"s", 4096, 1, 0, 1}}, entries));
  const ManifestFile manifest(path);
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(manifest->source(0).length, 100u);
  EXPECT_THROW(const ManifestFile again(path), std::runtime_error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tributary::pool
