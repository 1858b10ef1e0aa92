// The C interface: records, statuses, texts (L2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <latch>
#include <limits>
#include <set>
#include <vector>

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

// All of a buffer that tributary_pool_load() fills.
struct Loaded {
  std::vector<char> buffer = std::vector<char>(1 << 14);
  std::vector<tributary_pool_record> records = std::vector<tributary_pool_record>(64);
  std::size_t count = 0;

  tributary_pool_status load(tributary_pool* pool, const char* amount) {
    return tributary_pool_load(pool, amount, buffer.data(), buffer.size(), records.data(),
                               records.size(), &count);
  }
  [[nodiscard]] std::string text(std::size_t i) const {
    return {buffer.data() + records[i].offset, records[i].length};
  }
};

tributary_pool_epochs epochs(std::uint64_t rank, std::uint64_t ranks, int uneven) {
  return {sizeof(tributary_pool_epochs), 7, rank, ranks, 0, uneven};
}

TEST_F(PoolCInterface, L2AmountsWithoutIdsAreTheNextRecordsOfThisRank) {
  std::multiset<std::uint64_t> seen;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    const auto order = epochs(rank, 3, TRIBUTARY_POOL_KEEP);
    ASSERT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_OK);
    Loaded got;
    do {
      ASSERT_EQ(got.load(pool_, "9"), TRIBUTARY_POOL_OK) << tributary_pool_last_error();
      for (std::size_t i = 0; i < got.count; ++i) {
        EXPECT_EQ(got.text(i), StoredPool::text(got.records[i].id));
        EXPECT_EQ(got.records[i].offset % 64, 0u);
        seen.insert(got.records[i].id);
      }
    } while (got.count != 0);
    std::uint64_t epoch = 0;
    std::uint64_t position = 9;
    ASSERT_EQ(tributary_pool_get_position(pool_, &epoch, &position), TRIBUTARY_POOL_OK);
    EXPECT_EQ(epoch, 1u);
    EXPECT_EQ(position, 0u);
  }
  EXPECT_EQ(seen.size(), StoredPool::kRecords);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), StoredPool::kRecords);
}

TEST_F(PoolCInterface, L2UnevenRecordsArePaddedDroppedOrKept) {
  const std::pair<tributary_pool_uneven, std::size_t> wanted[] = {{TRIBUTARY_POOL_CONFIGURED, 14},
                                                                  {TRIBUTARY_POOL_PAD, 14},
                                                                  {TRIBUTARY_POOL_DROP, 13},
                                                                  {TRIBUTARY_POOL_KEEP, 13}};
  for (const auto& [uneven, share] : wanted) {
    const auto order = epochs(2, 3, uneven);
    ASSERT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_OK);
    std::size_t count = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(tributary_pool_next(pool_, "14", &count, &bytes), TRIBUTARY_POOL_OK);
    EXPECT_EQ(count, share) << uneven;
  }
}

TEST_F(PoolCInterface, L2AnAmountOfBytesSaysItsRoom) {
  auto order = epochs(0, 1, TRIBUTARY_POOL_CONFIGURED);
  order.in_order = 1;
  ASSERT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_OK);
  std::size_t count = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(tributary_pool_next(pool_, "15 B", &count, &bytes), TRIBUTARY_POOL_OK);
  EXPECT_EQ(count, 5u) << "1 to 5 bytes";
  EXPECT_EQ(bytes, 5 * 64u);
  Loaded got;
  EXPECT_EQ(tributary_pool_load(pool_, "15 B", got.buffer.data(), bytes - 1, got.records.data(), 5,
                                &got.count),
            TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("take 320 bytes"));
  EXPECT_EQ(tributary_pool_load(pool_, "15 B", got.buffer.data(), bytes, got.records.data(), 4,
                                &got.count),
            TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("into 4 places"));
  EXPECT_EQ(got.count, 0u);
  ASSERT_EQ(tributary_pool_load(pool_, "15 B", got.buffer.data(), bytes, got.records.data(), 5,
                                &got.count),
            TRIBUTARY_POOL_OK);
  EXPECT_EQ(got.count, 5u) << "what did not fit has moved nothing";
  EXPECT_EQ(got.text(4), StoredPool::text(4));
}

TEST_F(PoolCInterface, L2APositionGoesOnInAnotherProcess) {
  Loaded got;
  ASSERT_EQ(got.load(pool_, "15"), TRIBUTARY_POOL_OK) << "without a start";
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;
  ASSERT_EQ(tributary_pool_get_position(pool_, &epoch, &position), TRIBUTARY_POOL_OK);
  EXPECT_EQ(position, 15u);
  ASSERT_EQ(got.load(pool_, "4"), TRIBUTARY_POOL_OK);
  tributary_pool* other = nullptr;
  ASSERT_EQ(tributary_pool_open(stored_.config().c_str(), &other), TRIBUTARY_POOL_OK);
  ASSERT_EQ(tributary_pool_set_position(other, epoch, position), TRIBUTARY_POOL_OK);
  Loaded again;
  ASSERT_EQ(again.load(other, "4"), TRIBUTARY_POOL_OK);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(again.records[i].id, got.records[i].id);
  EXPECT_EQ(tributary_pool_set_position(other, 0, 41), TRIBUTARY_POOL_INVALID_ARGUMENT);
  tributary_pool_close(other);
}

TEST_F(PoolCInterface, L2UnreadableRecordsAreNamedAndTheOthersAreThere) {
  auto order = epochs(0, 1, TRIBUTARY_POOL_CONFIGURED);
  order.in_order = 1;
  ASSERT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_OK);
  std::filesystem::remove(stored_.file(2));
  Loaded got;
  EXPECT_EQ(got.load(pool_, "4"), TRIBUTARY_POOL_UNREADABLE);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("record 2"));
  ASSERT_EQ(got.count, 4u);
  EXPECT_EQ(got.text(3), StoredPool::text(3));
  ASSERT_EQ(got.load(pool_, "4"), TRIBUTARY_POOL_OK);
  EXPECT_EQ(got.records[0].id, 4u);
}

TEST_F(PoolCInterface, BadOrdersAndAmountsAreRefusedAndSaid) {
  auto order = epochs(3, 3, TRIBUTARY_POOL_PAD);
  EXPECT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("rank 3 of 3"));
  order = epochs(0, 1, 4);
  EXPECT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_INVALID_ARGUMENT);
  order.struct_size = 0;
  EXPECT_EQ(tributary_pool_start_epochs(pool_, &order), TRIBUTARY_POOL_INVALID_ARGUMENT);
  Loaded got;
  for (const char* amount : {"0", "41", "many", "1 TB"}) {
    EXPECT_EQ(got.load(pool_, amount), TRIBUTARY_POOL_INVALID_ARGUMENT) << amount;
    EXPECT_THAT(tributary_pool_last_error(), testing::HasSubstr("amount")) << amount;
  }
  EXPECT_EQ(got.load(pool_, nullptr), TRIBUTARY_POOL_INVALID_ARGUMENT)
      << "the file's 256 records are beyond the epoch";
  EXPECT_EQ(got.load(nullptr, "1"), TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_EQ(tributary_pool_load(pool_, "1", nullptr, 9, got.records.data(), 9, &got.count),
            TRIBUTARY_POOL_INVALID_ARGUMENT);
  EXPECT_EQ(tributary_pool_next(pool_, "1", nullptr, nullptr), TRIBUTARY_POOL_INVALID_ARGUMENT);
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
