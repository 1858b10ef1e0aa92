// Ranks of one process: who runs, with which options, and what is said when some fail.
#include "tools/client/collective/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/client/fake_job.h"

namespace tributary::client {
namespace {

JobOptions job_of(std::uint32_t size) {
  JobOptions options;
  options.job = 9;
  options.size = size;
  options.address = "memif:///s?id={rank}&again={rank}";
  options.timeout_seconds = 1.5;
  options.at_host = true;
  return options;
}

std::string failure(const JobOptions& options, const std::function<void(Communicator&)>& body,
                    FakeJob& job) {
  try {
    run_ranks(options, body, [&](const CommunicatorOptions& o) { return job.create(o); });
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST(Ranks, AllOfThemWithoutRank) {
  FakeJob job(3);
  std::atomic<int> sum{0};
  EXPECT_EQ(failure(
                job_of(3), [&](Communicator& c) { sum += 1 << c.rank(); }, job),
            "none");
  EXPECT_EQ(sum, 7);
  ASSERT_EQ(job.joined().size(), 3u);
  for (const auto& options : job.joined()) {
    const std::string rank = std::to_string(options.rank);
    EXPECT_EQ(options.job, 9u);
    EXPECT_EQ(options.size, 3u);
    EXPECT_EQ(options.address,
              std::string("memif:///s?id=").append(rank).append("&again=").append(rank));
    EXPECT_TRUE(options.at_host);
    EXPECT_EQ(options.join_timeout, Duration::ms(1500));
    EXPECT_EQ(options.op_timeout, Duration::ms(1500));
  }
}

// A rank that is told to stop leaves its job first: what would wait for ever is cancelled, and the
// process ends by the signal when all communicators are gone.
TEST(Ranks, ASignalEndsTheProcessWhenItsRanksHaveLeft) {
  const auto stop = [](int signal) {
    run_ranks(
        job_of(2), [](Communicator&) {},
        [signal](const CommunicatorOptions& o) -> std::unique_ptr<Communicator> {
          if (o.rank == 0) raise(signal);
          while (!o.cancelled()) std::this_thread::yield();
          if (o.rank == 1) std::fputs("cancelled", stderr);
          throw CommunicatorError(wire::Reason::none, {}, "joining was cancelled");
        });
  };
  EXPECT_EXIT(stop(SIGINT), ::testing::KilledBySignal(SIGINT), "cancelled");
  EXPECT_EXIT(stop(SIGTERM), ::testing::KilledBySignal(SIGTERM), "cancelled");
}

TEST(Ranks, OneOfThemWithRank) {
  FakeJob job(1);
  JobOptions options = job_of(3);
  options.rank = 2;
  EXPECT_EQ(failure(
                options, [](Communicator&) {}, job),
            "none");
  ASSERT_EQ(job.joined().size(), 1u);
  EXPECT_EQ(job.joined()[0].rank, 2u);
}

TEST(Ranks, FailuresNameTheirRanks) {
  FakeJob job(4);
  job.refuse(2);
  EXPECT_EQ(failure(
                job_of(4), [](Communicator& c) { c.barrier(); }, job),
            "ranks 0, 1, 3: a rank left; find out what ended it, then start all ranks again\n"
            "rank 2: refused");
}

}  // namespace
}  // namespace tributary::client
