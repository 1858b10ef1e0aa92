// Which reductions a switch takes of a job's data, and has kernels for (T14).
#include "aggregator/kernels/kernel_table.h"

#include "tests/aggregator/engine_fixture.h"
#include "tests/core/reduction_table.h"

namespace tributary::aggregator {
namespace {

using wire::DType;
using wire::ReduceOp;

TEST(KernelTable, HasKernelsForEveryPairThatMakesSense) {
  for (const auto arithmetic : {wire::Arithmetic::saturating, wire::Arithmetic::modular}) {
    const KernelTable table(arithmetic);
    wire::for_each_reduction(wire::Partials::wide, [&](DType dtype, const char* type, ReduceOp op,
                                                       const char* name, const char* why) {
      EXPECT_EQ(table.find(dtype, op) != nullptr, why == nullptr) << type << ' ' << name;
    });
  }
}

TEST(AdmittedReductions, Rule23_TheSumByWhichRanksAgreeIsAmongThem) {
  config::JobConfig job = test_job(1);
  job.reductions = {{DType::float32, ReduceOp::sum}};
  const AdmittedReductions admitted(job);
  EXPECT_TRUE(admitted.contains(DType::float32, ReduceOp::sum));
  EXPECT_TRUE(admitted.contains(DType::int64, ReduceOp::sum));
  EXPECT_FALSE(admitted.contains(DType::int64, ReduceOp::max));
  EXPECT_FALSE(admitted.any(DType::int32));
}

// Data of a pair that makes no sense opens nothing and is counted, though the job names no pairs.
TEST_F(EngineTest, T14_DataOfInvalidPairsIsRefused) {
  for (const auto partials : {wire::Partials::wide, wire::Partials::narrow}) {
    config::JobConfig job = test_job(1);
    job.partials = partials;
    build(test_switch({job}));
    join_all();
    const std::vector<std::byte> one(8);
    std::uint32_t seq = 0;
    wire::for_each_reduction(partials, [&](DType dtype, const char* type, ReduceOp op,
                                           const char* name, const char* why) {
      wire::Header h = data_header(0, seq, 1, dtype);
      h.reduce_op = op;
      const Decision d = deliver({h, {}, std::span(one).first(wire::size_of(dtype))}, peer(0));
      if (why == nullptr) {
        EXPECT_EQ(d.verdict, Verdict::completed) << type << ' ' << name;
        ++seq;
      } else {
        EXPECT_EQ(d.verdict, Verdict::dropped) << type << ' ' << name;
        EXPECT_EQ(d.reason, DropReason::bad_reduce_op) << type << ' ' << name;
        EXPECT_TRUE(sent_.empty());
      }
    });
    EXPECT_EQ(counters().completions.get(), seq);
  }
}

}  // namespace
}  // namespace tributary::aggregator
