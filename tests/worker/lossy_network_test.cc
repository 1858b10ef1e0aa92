// Protocol rules 1 to 7 together: whatever the network does, every op ends, every rank has the
// exact sum, and nothing is left in the switch after the ranks have gone (O6, T22).
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "tests/worker/simulated_cluster.h"

namespace tributary::worker {
namespace {

// One op as all ranks see it: the values are small integers, so that float32 sums are exact too.
struct SimOp {
  std::vector<std::vector<std::int32_t>> inputs;  // by rank
  std::vector<std::vector<std::uint32_t>> data;   // by rank, what the session works on
  std::vector<Op> ops;
  std::vector<bool> finished;
  std::vector<std::uint32_t> expected;
};

std::uint32_t element(std::int32_t value, wire::DType dtype) {
  if (dtype == wire::DType::int32) return static_cast<std::uint32_t>(value);
  const auto f = static_cast<float>(value);
  return std::bit_cast<std::uint32_t>(f);
}

SimOp make_op(Prng& prng, std::uint32_t workers, std::size_t count, bool barrier) {
  SimOp s;
  const wire::DType dtype = prng.below(2) == 0 ? wire::DType::int32 : wire::DType::float32;
  std::vector<std::int32_t> sum(count, 0);
  s.ops.resize(workers);
  s.finished.assign(workers, false);
  for (std::uint32_t r = 0; r < workers; ++r) {
    std::vector<std::uint32_t> data(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto v = static_cast<std::int32_t>(prng.below(20001)) - 10000;
      sum[i] += v;
      data[i] = element(v, dtype);
    }
    s.data.push_back(std::move(data));
  }
  for (const std::int32_t v : sum) s.expected.push_back(element(v, dtype));
  for (std::uint32_t r = 0; r < workers; ++r) {
    Op& op = s.ops[r];
    op.data = reinterpret_cast<std::byte*>(s.data[r].data());
    op.count = count;
    op.dtype = barrier ? wire::DType::none : dtype;
    op.collective = barrier ? wire::Collective::barrier : wire::Collective::allreduce;
  }
  return s;
}

// Ranks submit at their own pace, a few ops ahead.
class Workload {
 public:
  Workload(SimulatedCluster& cluster, std::uint32_t workers, std::size_t ops)
      : cluster_(cluster), workers_(workers), next_(workers, 0), pause_until_(workers) {
    for (std::size_t i = 0; i < ops; ++i) {
      const bool barrier = cluster.prng().below(8) == 0;
      const std::size_t count = barrier ? 0 : cluster.prng().below(200);
      ops_.push_back(make_op(cluster.prng(), workers, count, barrier));
    }
  }

  // True when every op has finished on every rank.
  bool advance() {
    bool all = true;
    for (std::uint32_t r = 0; r < workers_; ++r) {
      if (next_[r] < ops_.size() && cluster_.now() >= pause_until_[r]) {
        cluster_.session(r).submit(ops_[next_[r]++].ops[r], cluster_.now());
        if (cluster_.prng().below(4) == 0)
          pause_until_[r] = cluster_.now() + Duration::us(cluster_.prng().below(30'000));
      }
      collect(r);
      all = all && finished_ == ops_.size() * workers_;
    }
    return all;
  }

  void check() const {
    for (std::size_t i = 0; i < ops_.size(); ++i)
      for (std::uint32_t r = 0; r < workers_; ++r) {
        ASSERT_FALSE(ops_[i].ops[r].failure) << ops_[i].ops[r].failure->text;
        ASSERT_EQ(ops_[i].data[r], ops_[i].expected) << "op " << i << " rank " << r;
      }
  }

 private:
  void collect(std::uint32_t rank) {
    while (Op* op = cluster_.session(rank).take_finished()) {
      // The result is written once: what the caller does with the buffer now stays.
      ASSERT_LT(op->id, ops_.size());
      ASSERT_FALSE(ops_[op->id].finished[rank]) << "finished twice";
      ops_[op->id].finished[rank] = true;
      ++finished_;
    }
  }

  SimulatedCluster& cluster_;
  std::uint32_t workers_;
  std::vector<SimOp> ops_;
  std::vector<std::size_t> next_;
  std::vector<Instant> pause_until_;
  std::size_t finished_ = 0;
};

void leave_all(SimulatedCluster& cluster, std::uint32_t workers, Duration lease) {
  for (std::uint32_t r = 0; r < workers; ++r) {
    cluster.session(r).leave(cluster.now());
    cluster.run_for(Duration::us(cluster.prng().below(5'000)));
  }
  cluster.run_for(Duration::ms(200));
  for (std::uint32_t r = 0; r < workers; ++r)
    ASSERT_EQ(cluster.session(r).state(), SessionState::left);
  // When all three LEAVEs of a rank are lost its lease cleans up.
  if (cluster.counters().members.get() != 0) cluster.run_for(lease * 2);
  EXPECT_EQ(cluster.counters().members.get(), 0u);
  EXPECT_EQ(cluster.counters().slots_open.get(), 0u);
  EXPECT_EQ(cluster.counters().results_retained.get(), 0u);
}

struct Outcome {
  std::uint64_t trace_hash = 0;
  std::uint64_t results = 0;
  std::uint64_t resends = 0;
  std::uint64_t probes = 0;
};

Outcome run_seed(std::uint64_t seed, std::uint32_t loss_ppm, std::uint32_t loss_group = 0) {
  Prng shape(seed * 7919 + loss_ppm);
  const std::uint32_t workers = 1 + shape.below(5);
  const std::uint32_t window = 1u << shape.below(4);
  const auto shards = static_cast<std::uint8_t>(1 + shape.below(3));
  config::JobConfig job = small_job(workers, window, 64, shards);
  job.lease = Duration::seconds(5);
  const NetworkModel model{
      .loss_ppm = loss_ppm, .duplicate_ppm = loss_ppm, .reorder_ppm = loss_ppm * 2};
  // Half of the seeds pass the wrap of the sequence number.
  const std::uint32_t first_seq = shape.below(2) == 0 ? 0 : 0xFFFFFFF0u;
  SimulatedCluster cluster(seed, job, model, first_seq, loss_group);
  EXPECT_TRUE(cluster.start_all()) << "not joined";
  Workload work(cluster, workers, 12);
  EXPECT_TRUE(cluster.run_until([&] { return work.advance(); }, Duration::seconds(120)))
      << "an op did not end";
  work.check();
  EXPECT_EQ(cluster.beyond_window(), 0u);
  Outcome o;
  for (std::uint32_t r = 0; r < workers; ++r) {
    const SessionCounters& c = cluster.session(r).counters();
    o.results += c.results.get();
    o.resends += c.resends.get();
    o.probes += c.probes.get();
    EXPECT_EQ(c.results.get(), c.contributions.get()) << "each chunk is delivered once";
  }
  leave_all(cluster, workers, job.lease);
  o.trace_hash = cluster.trace_hash();
  return o;
}

class LossyNetwork : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(LossyNetwork, EveryOpIsExactAndEverythingIsFreedO6T22) {
  Outcome total;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", loss " + std::to_string(GetParam()) + " ppm");
    const Outcome o = run_seed(seed, GetParam());
    total.results += o.results;
    total.resends += o.resends;
    total.probes += o.probes;
    if (HasFailure()) return;
  }
  // The network did its worst, and recovery did not take more than that calls for.
  EXPECT_GT(total.results, 50'000u);
  if (GetParam() > 0) {
    EXPECT_GT(total.resends, total.results * GetParam() / 2'000'000);
  }
  EXPECT_LT(total.resends, total.results * (GetParam() + 10'000) / 250'000);
  RecordProperty("results", static_cast<int>(total.results));
  RecordProperty("resends", static_cast<int>(total.resends));
  RecordProperty("probes", static_cast<int>(total.probes));
}
INSTANTIATE_TEST_SUITE_P(Loss, LossyNetwork, ::testing::Values(0u, 10'000u, 100'000u));

// O5, both ways: at a loss of 1 % every op ends exactly, and asking costs little.
class LossDetection : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(LossDetection, O5_EveryOpEndsAndProbesAreBounded) {
  Outcome total;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", groups of " + std::to_string(GetParam()));
    const Outcome o = run_seed(seed, 10'000, GetParam());
    total.results += o.results;
    total.resends += o.resends;
    total.probes += o.probes;
    if (HasFailure()) return;
  }
  EXPECT_GT(total.results, 20'000u);
  EXPECT_GT(total.probes, total.results / 100);
  EXPECT_LT(total.probes, total.results / 4);
  EXPECT_LT(total.resends, total.results / 10);
  RecordProperty("probes", static_cast<int>(total.probes));
  RecordProperty("results", static_cast<int>(total.results));
}
INSTANTIATE_TEST_SUITE_P(Groups, LossDetection, ::testing::Values(0u, 2u, 8u));

TEST(LossyNetworkTrace, SameSeedSameRun) {
  EXPECT_EQ(run_seed(4711, 50'000).trace_hash, run_seed(4711, 50'000).trace_hash);
}

}  // namespace
}  // namespace tributary::worker
