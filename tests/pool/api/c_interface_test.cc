// The C interface: records, statuses, texts (L2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <latch>
#include <limits>

#include "pool/api/tributary_pool.h"
#include "tests/pool/stored_pool.h"

namespace tributary::pool {
namespace {

class PoolCInterface : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tributary_pool_open(stored_.config().c_str(), &pool_), TRIBUTARY_POOL_OK)
        << tributary_pool_last_error();
  }
  void TearDown() override { tributary_pool_close(pool_); }

  StoredPool stored_{"c-interface"};
  tributary_pool* pool_ = nullptr;
};

TEST_F(PoolCInterface, L2RecordsComeIntoTheCallersBuffers) {
  EXPECT_EQ(tributary_pool_records(pool_), StoredPool::kRecords);
  std::uint32_t length = 0;
  ASSERT_EQ(tributary_pool_length(pool_, 9, &length), TRIBUTARY_POOL_OK);
  EXPECT_EQ(length, 10u);
  std::array<char, 100> buffer{};
  ASSERT_EQ(tributary_pool_register_buffer(pool_, buffer.data(), buffer.size()), TRIBUTARY_POOL_OK);
  ASSERT_EQ(tributary_pool_get_into(pool_, 9, buffer.data(), 10), TRIBUTARY_POOL_OK);
  EXPECT_EQ(std::string(buffer.data()), StoredPool::text(9));
  const std::uint64_t ids[] = {3, 1};
  void* const targets[] = {buffer.data(), buffer.data() + 50};
  const std::size_t sizes[] = {50, 50};
  ASSERT_EQ(tributary_pool_get_batch(pool_, ids, 2, targets, sizes), TRIBUTARY_POOL_OK);
  EXPECT_EQ(std::memcmp(buffer.data(), StoredPool::text(3).data(), 4), 0);
  EXPECT_EQ(std::memcmp(buffer.data() + 50, StoredPool::text(1).data(), 2), 0);
  EXPECT_EQ(tributary_pool_unregister_buffer(pool_, buffer.data()), TRIBUTARY_POOL_OK);
  tributary_pool_stats stats{};
  stats.struct_size = sizeof stats;
  ASSERT_EQ(tributary_pool_get_stats(pool_, &stats), TRIBUTARY_POOL_OK);
  EXPECT_EQ(stats.misses, 3u);
  EXPECT_EQ(stats.store_bytes, 16u);
}

TEST_F(PoolCInterface, L2AsyncRequestsSayHowTheyEnded) {
  struct Ended {
    std::atomic<int> status{-1};
    std::string problem;
  };
  const auto done = [](void* context, tributary_pool_status status, const char* problem) {
    auto* const ended = static_cast<Ended*>(context);
    ended->problem = problem == nullptr ? "" : problem;
    ended->status = status;
  };
  std::array<char, 100> buffer{};
  std::filesystem::remove(stored_.file(5));
  Ended good;
  Ended bad;
  for (auto& [id, ended] : {std::pair<std::uint64_t, Ended&>{4, good}, {5, bad}}) {
    void* const target = buffer.data() + (id == 4 ? 0 : 50);
    const std::size_t size = 50;
    ASSERT_EQ(tributary_pool_get_batch_async(pool_, &id, 1, &target, &size, done, &ended),
              TRIBUTARY_POOL_OK);
  }
  ASSERT_EQ(tributary_pool_wait(pool_), TRIBUTARY_POOL_OK);
  EXPECT_EQ(good.status, TRIBUTARY_POOL_OK) << good.problem;
  EXPECT_EQ(std::string(buffer.data()), StoredPool::text(4));
  EXPECT_EQ(bad.status, TRIBUTARY_POOL_UNREADABLE);
  EXPECT_THAT(bad.problem, testing::HasSubstr("record 5"));
}

TEST_F(PoolCInterface, AWaitHasALimit) {
  std::latch released(1);
  const auto done = [](void* context, tributary_pool_status, const char*) {
    static_cast<std::latch*>(context)->wait();
  };
  std::array<char, 50> buffer{};
  const std::uint64_t id = 4;
  void* const target = buffer.data();
  const std::size_t size = buffer.size();
  EXPECT_EQ(tributary_pool_wait_for(pool_, 0), TRIBUTARY_POOL_OK) << "none was begun";
  ASSERT_EQ(tributary_pool_get_batch_async(pool_, &id, 1, &target, &size, done, &released),
            TRIBUTARY_POOL_OK);
  EXPECT_EQ(tributary_pool_wait_for(pool_, 0), TRIBUTARY_POOL_NOT_DONE);
  EXPECT_EQ(tributary_pool_wait_for(pool_, 0.001), TRIBUTARY_POOL_NOT_DONE);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("not done"));
  released.count_down();
  EXPECT_EQ(tributary_pool_wait_for(pool_, 3600), TRIBUTARY_POOL_OK);
  for (const double bad : {-1.0, 1e9, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(tributary_pool_wait_for(pool_, bad), TRIBUTARY_POOL_INVALID_ARGUMENT) << bad;
}

TEST_F(PoolCInterface, BadArgumentsAreRefusedAndSaid) {
  char byte = 0;
  EXPECT_EQ(tributary_pool_get_into(pool_, 40, &byte, 1), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("allowed: 0 to 39"));
  EXPECT_EQ(tributary_pool_get_into(pool_, 1, &byte, 1), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("has 2 bytes"));
  EXPECT_EQ(tributary_pool_get_into(pool_, 0, nullptr, 1), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_EQ(tributary_pool_get_into(nullptr, 0, &byte, 1), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_EQ(tributary_pool_register_buffer(pool_, &byte, 0), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_EQ(tributary_pool_get_batch_async(pool_, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            TRIBUTARY_POOL_INVALID_ARGUMENT);
  tributary_pool_stats stats{};
  EXPECT_EQ(tributary_pool_get_stats(pool_, &stats), TRIBUTARY_POOL_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tributary::pool
