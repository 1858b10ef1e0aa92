// Ranks that disagree about an op, whatever about it and whatever op: all are told at once, and
// both sides are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "tests/worker/test_switch.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using wire::Collective;
using wire::DType;
using wire::ReduceOp;

constexpr std::size_t kElements = 512;  // two chunks
constexpr std::uint32_t kRanks = 3;

// One rank's part.
struct Memory {
  std::array<float, kRanks * kElements> data{};
  std::array<float, kRanks * kElements> output{};
};

struct Case {
  const char* name;
  CollectiveCall first;  // of rank 0
  CollectiveCall others;
  std::vector<const char*> named;  // in the error, in any order
};

CollectiveCall of(Collective collective, std::size_t count = kElements, std::uint32_t root = 0,
                  DType dtype = DType::float32, ReduceOp op = ReduceOp::sum) {
  return {collective, nullptr, nullptr, count, dtype, op, root};
}

CollectiveCall block_scaled(std::int32_t exponent) {
  CollectiveCall call = of(Collective::allreduce);
  call.encoding = wire::Encoding::block_scaled;
  call.scale_exponent = exponent;
  return call;
}

std::vector<Case> cases() {
  const auto half = kElements / 2;
  return {
      {"broadcast count",
       of(Collective::broadcast),
       of(Collective::broadcast, half),
       {"512 float32 for broadcast from rank 0", "256 float32 for broadcast from rank 0"}},
      {"broadcast of nothing",
       of(Collective::broadcast),
       of(Collective::broadcast, 0),
       {"512 float32 for broadcast", "a chunk of 0 float32 for broadcast"}},
      {"broadcast dtype",
       of(Collective::broadcast),
       of(Collective::broadcast, kElements, 0, DType::int32),
       {"512 float32 for broadcast", "512 int32 for broadcast"}},
      {"broadcast root",
       of(Collective::broadcast),
       of(Collective::broadcast, kElements, 2),
       {"512 float32 for broadcast from rank 0", "512 float32 for broadcast from rank 2"}},
      {"broadcast and allreduce",
       of(Collective::broadcast),
       of(Collective::allreduce),
       {"512 float32 for broadcast from rank 0", "512 float32"}},
      {"broadcast and barrier",
       of(Collective::broadcast),
       {Collective::barrier},
       {"512 float32 for broadcast from rank 0", "a barrier"}},
      {"broadcast and all_gather",
       of(Collective::broadcast),
       of(Collective::all_gather),
       {"512 float32 for broadcast from rank 0", "1536 float32 for all_gather"}},
      {"all_gather count",
       of(Collective::all_gather, half),
       of(Collective::all_gather),
       {"768 float32 for all_gather", "1536 float32 for all_gather"}},
      {"all_gather dtype",
       of(Collective::all_gather),
       of(Collective::all_gather, kElements, 0, DType::uint32),
       {"1536 float32 for all_gather", "1536 uint32 for all_gather"}},
      {"reduce root",
       of(Collective::reduce),
       of(Collective::reduce, kElements, 1),
       {"512 float32 for reduce to rank 0", "512 float32 for reduce to rank 1"}},
      {"reduce and allreduce",
       of(Collective::reduce),
       of(Collective::allreduce),
       {"512 float32 for reduce to rank 0", "512 float32"}},
      {"reduce_scatter count",
       of(Collective::reduce_scatter, half),
       of(Collective::reduce_scatter),
       {"768 float32 for reduce_scatter", "1536 float32 for reduce_scatter"}},
      {"operation",
       of(Collective::allreduce),
       of(Collective::allreduce, kElements, 0, DType::float32, ReduceOp::max),
       {"512 float32", "512 float32 (max)"}},
      {"count",
       of(Collective::allreduce),
       of(Collective::allreduce, kElements - 1),
       {"512 float32", "511 float32"}},
      {"allreduce and barrier",
       of(Collective::allreduce),
       {Collective::barrier},
       {"512 float32", "a barrier"}},
      {"scale",
       block_scaled(-3),
       block_scaled(-4),
       {"512 int32, block-scaled by 2^-3", "512 int32, block-scaled by 2^-4"}},
  };
}

class DisagreementTimed : public ::testing::TestWithParam<std::size_t> {};

TEST_P(DisagreementTimed, EveryRankIsToldWhoCalledWhat) {
  const Case disputed = cases()[GetParam()];
  config::SwitchConfig config;
  config.ipv4 = 0x7F000001;
  config::JobConfig job;
  job.id = worker::drawn_job_id();
  job.workers = kRanks;
  job.chunk_bytes = 1024;
  config.jobs.push_back(job);
  worker::TestSwitch fabric(config);
  std::array<Memory, kRanks> memory;
  std::array<std::string, kRanks> errors;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      const auto communicator = Communicator::create(fabric.options(rank));
      CollectiveCall call = rank == 0 ? disputed.first : disputed.others;
      call.data = memory[rank].data.data();
      call.output = memory[rank].output.data();
      try {
        communicator->start(call).wait();
        errors[rank] = "no error";
      } catch (const CommunicatorError& e) {
        EXPECT_EQ(e.reason(), wire::Reason::op_mismatch) << e.what();
        errors[rank] = e.what();
      }
    });
  for (auto& t : threads) t.join();
  for (const std::string& error : errors) {
    for (const char* const side : disputed.named) EXPECT_THAT(error, HasSubstr(side));
    EXPECT_THAT(error, HasSubstr("rank 0 sent"));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCollective, DisagreementTimed,
                         ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& instance) {
                           std::string name = cases()[instance.param].name;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace tributary
