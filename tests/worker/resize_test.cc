// Jobs that grow and shrink between two ops (docs/protocol/resize.md): threads and kernel sockets
// against an engine for each plane, on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "tests/worker/test_switch.h"
#include "worker/api/communicator.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using worker::TestSwitch;

constexpr std::uint32_t kMost = 5;

class ResizeTestTimed : public ::testing::Test {
 protected:
  void start(std::uint8_t planes = 1, std::uint32_t least = 1) {
    config::SwitchConfig config;
    config.ipv4 = 0x7F000001;
    config::JobConfig job;
    job.id = worker::drawn_job_id();
    job.workers = kMost;
    job.min_workers = least;
    job.planes = planes;
    job.chunk_bytes = 64;
    config.jobs.push_back(job);
    switch_ = std::make_unique<TestSwitch>(config);
  }
  [[nodiscard]] CommunicatorOptions options(std::uint32_t rank, std::uint32_t size) const {
    CommunicatorOptions o = switch_->options(rank);
    o.size = size;
    return o;
  }
  // Runs `body` as each of these ranks, and adds what it throws to `errors_`.
  void run(std::uint32_t begin, std::uint32_t end, const std::function<void(std::uint32_t)>& body) {
    for (std::uint32_t rank = begin; rank < end; ++rank)
      threads_.emplace_back([this, rank, body] {
        try {
          body(rank);
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex_);
          errors_[rank] = error.what();
        }
      });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void TearDown() override { join(); }

  // So many ops, of which each rank checks every element.
  static void ops(Communicator& comm, std::uint32_t count) {
    const std::uint32_t ranks = comm.size();
    for (std::uint32_t op = 0; op < count; ++op) {
      std::vector<std::int32_t> data(150);
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::int32_t>((i + op) * (comm.rank() + 1));
      comm.allreduce(data.data(), data.size(), wire::DType::int32, wire::ReduceOp::sum).wait();
      const std::size_t factor = std::size_t{ranks} * (ranks + 1) / 2;
      for (std::size_t i = 0; i < data.size(); ++i)
        if (data[i] != static_cast<std::int32_t>((i + op) * factor))
          throw std::runtime_error("a wrong sum of " + std::to_string(ranks) + " ranks");
      std::vector<std::int32_t> gathered(ranks);
      const auto mine = static_cast<std::int32_t>(comm.rank() * 10);
      comm.all_gather(&mine, gathered.data(), 1, wire::DType::int32).wait();
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (gathered[rank] != static_cast<std::int32_t>(rank * 10))
          throw std::runtime_error("gathered wrongly");
    }
    comm.barrier();
  }
  std::unique_ptr<TestSwitch> switch_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::string> errors_;
  std::vector<std::thread> threads_;
};

// The last step waits for ranks that have left; they come again as new ones.
TEST_F(ResizeTestTimed, Rule24_AJobGrowsAndShrinksBetweenTwoOps) {
  start();
  const auto again = [this](std::uint32_t rank) {
    const auto comm = Communicator::create(options(rank, kMost));
    ops(*comm, 5);
  };
  run(4, kMost, again);
  const auto member = [&](std::uint32_t rank, std::size_t from) {
    constexpr std::array<std::uint32_t, 5> kSizes = {2, 4, 3, 1, kMost};
    const auto comm = Communicator::create(options(rank, kSizes[from]));
    ops(*comm, 5);
    for (std::size_t at = from + 1; at < kSizes.size(); ++at) {
      const bool stays = comm->resize(kSizes[at]);
      EXPECT_EQ(stays, rank < kSizes[at]);
      EXPECT_EQ(comm->size(), kSizes[at]);
      if (!stays) {
        EXPECT_THROW(comm->barrier(), CommunicatorError);
        return again(rank);
      }
      ops(*comm, 5);
    }
  };
  run(0, 2, [member](std::uint32_t rank) { member(rank, 0); });
  run(2, 4, [member](std::uint32_t rank) { member(rank, 1); });
  join();
  EXPECT_THAT(errors_, ElementsAre());
  EXPECT_EQ(switch_->counters().epochs.get(), 5u);
  EXPECT_EQ(switch_->counters().drains.get(), 4u);
}

// Parts are cut by rank: those of a rank that the job does not have are past the caller's memory.
TEST_F(ResizeTestTimed, Rule24_ARankThatHasLeftStartsNoOp) {
  start();
  run(0, 3, [this](std::uint32_t rank) {
    const auto comm = Communicator::create(options(rank, 3));
    if (comm->resize(2)) return ops(*comm, 1);
    std::vector<std::int32_t> parts(2), mine(1);
    const auto refused = [](const std::function<void()>& call) {
      try {
        call();
        ADD_FAILURE() << "it has left";
      } catch (const CommunicatorError& error) {
        EXPECT_THAT(error.what(), HasSubstr("this rank has left the job by resize"));
      }
    };
    constexpr auto kType = wire::DType::int32;
    refused([&] { comm->all_gather(mine.data(), parts.data(), 1, kType); });
    refused(
        [&] { comm->reduce_scatter(parts.data(), mine.data(), 1, kType, wire::ReduceOp::sum); });
    refused([&] { comm->resize(3); });
  });
  join();
  EXPECT_THAT(errors_, ElementsAre());
}

TEST_F(ResizeTestTimed, Rule24_AllPlanesAreResizedAtTheSameOp) {
  start(3);
  const auto member = [this](std::uint32_t rank, std::uint32_t size) {
    const auto comm = Communicator::create(options(rank, size));
    ops(*comm, 10);
    if (size == 2) {
      EXPECT_TRUE(comm->resize(4));
      ops(*comm, 10);
    }
    if (comm->resize(3)) ops(*comm, 10);
  };
  run(0, 2, [member](std::uint32_t rank) { member(rank, 2); });
  run(2, 4, [member](std::uint32_t rank) { member(rank, 4); });
  join();
  EXPECT_THAT(errors_, ElementsAre());
  for (std::size_t plane = 0; plane < 3; ++plane)
    EXPECT_EQ(switch_->counters(0, plane).drains.get(), 2u);
}

// Newcomers know of no op before the epoch, so ranks that retry count from it, too.
TEST_F(ResizeTestTimed, Rule23_Rule24_ASwitchDiesAfterTheJobHasGrown) {
  start();
  std::atomic<int> grown{0};
  const auto member = [&](std::uint32_t rank, std::uint32_t size) {
    CommunicatorOptions o = options(rank, size);
    o.retry = Retry::ops;
    const auto comm = Communicator::create(o);
    ops(*comm, 5);
    if (size == 2) comm->resize(3);
    ops(*comm, 5);
    ++grown;
    grown.notify_all();
    ops(*comm, 200);
  };
  run(0, 2, [member](std::uint32_t rank) { member(rank, 2); });
  // It is in the job from the start of the second round of ops on.
  run(2, 3, [&](std::uint32_t rank) {
    CommunicatorOptions o = options(rank, 3);
    o.retry = Retry::ops;
    const auto comm = Communicator::create(o);
    ops(*comm, 5);
    ++grown;
    grown.notify_all();
    ops(*comm, 200);
  });
  for (int have = grown; have < 3; have = grown) grown.wait(have);
  switch_->crash();
  switch_->start();
  join();
  EXPECT_THAT(errors_, ElementsAre());
}

TEST_F(ResizeTestTimed, Rule24_LostPacketsDelayAResizeAndNothingElse) {
  start();
  switch_->lose(30'000);
  const auto member = [this](std::uint32_t rank, std::uint32_t size) {
    const auto comm = Communicator::create(options(rank, size));
    ops(*comm, 3);
    if (size == 2) {
      comm->resize(4);
      ops(*comm, 3);
    }
    if (comm->resize(3)) ops(*comm, 3);
  };
  run(0, 2, [member](std::uint32_t rank) { member(rank, 2); });
  run(2, 4, [member](std::uint32_t rank) { member(rank, 4); });
  join();
  EXPECT_THAT(errors_, ElementsAre());
}

TEST_F(ResizeTestTimed, Rule24_RanksThatDisagreeAreNamedAndTheJobGoesOn) {
  start();
  run(0, 3, [this](std::uint32_t rank) {
    const auto comm = Communicator::create(options(rank, 3));
    try {
      comm->resize(rank == 1 ? 4 : 2);
      ADD_FAILURE() << "they disagree";
    } catch (const CommunicatorError& error) {
      EXPECT_THAT(error.what(), HasSubstr("the ranks want different sizes"));
      EXPECT_THAT(error.what(), HasSubstr("rank 1 wants 4"));
      EXPECT_EQ(error.missing_ranks().size(), 2u);
    }
    ops(*comm, 3);
  });
  join();
  EXPECT_THAT(errors_, ElementsAre());
}

TEST_F(ResizeTestTimed, Rule24_SizesThatTheJobCannotHaveAreRefused) {
  start(1, 2);
  run(0, 3, [this](std::uint32_t rank) {
    const auto comm = Communicator::create(options(rank, 3));
    for (const std::uint32_t size : {0u, 1u, kMost + 1, 0xFFFFFFFFu}) {
      try {
        comm->resize(size);
        ADD_FAILURE() << size;
      } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), HasSubstr("has 2 to 5 ranks (min_workers and workers"));
      }
    }
    EXPECT_TRUE(comm->resize(3));  // nothing changes
    ops(*comm, 3);
  });
  join();
  EXPECT_THAT(errors_, ElementsAre());
  EXPECT_EQ(switch_->counters().epochs.get(), 1u);
  run(0, 1, [this](std::uint32_t rank) { Communicator::create(options(rank, 1)); });
  join();
  EXPECT_THAT(errors_[0], HasSubstr("another worker count"));
}

// Programs that are started anew come with the number that they have now.
TEST_F(ResizeTestTimed, Rule24_RanksThatAreStartedAnewMayBeMoreOrFewer) {
  start();
  for (const std::uint32_t size : {3u, 2u, 4u}) {
    run(0, size, [this, size](std::uint32_t rank) {
      const auto comm = Communicator::create(options(rank, size));
      ops(*comm, 3);
    });
    join();
    EXPECT_THAT(errors_, ElementsAre());
  }
}

TEST_F(ResizeTestTimed, Rule24_AJobWithoutMinWorkersKeepsItsSize) {
  start(1, 0);
  run(0, kMost, [this](std::uint32_t rank) {
    const auto comm = Communicator::create(options(rank, kMost));
    EXPECT_THROW(comm->resize(2), std::invalid_argument);
    ops(*comm, 2);
  });
  join();
  EXPECT_THAT(errors_, ElementsAre());
}

}  // namespace
}  // namespace tributary
