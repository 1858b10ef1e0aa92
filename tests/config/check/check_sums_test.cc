// Contradictions in how sums are made.
#include "config/check/check_sums.h"

#include <gtest/gtest.h>

#include "tests/config/sample.h"
#include "tests/core/reduction_table.h"

namespace tributary::config {
namespace {

class SumKey : public testing::TestWithParam<BadLine> {};
TEST_P(SumKey, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Contradictions, SumKey,
    testing::Values(
        BadLine{22, "    reductions: [float32 sum, bool sum]",
                "f.yaml:22:31: jobs[0].reductions[1]: 'bool sum' makes no sense: bool has no sum"},
        BadLine{22, "    reductions: [float33 sum]",
                "f.yaml:22:18: jobs[0].reductions[0]: 'float33 sum' begins with no data type"},
        BadLine{22, "    reductions: [int32 total]",
                "f.yaml:22:18: jobs[0].reductions[0]: 'int32 total' ends with no reduce op"},
        BadLine{22, "    bracketing: [0, 1]",
                "f.yaml:22:17: jobs[0].bracketing: has no meaning with order: fast"},
        BadLine{22, "    order: reproducible\n    bracketing: [[0], 2]",
                "f.yaml:23:17: jobs[0].bracketing: rank 2 is outside the job"},
        BadLine{22, "    order: reproducible\n    bracketing: [1, [1]]",
                "f.yaml:23:17: jobs[0].bracketing: rank 1 stands there twice"},
        BadLine{22, "    order: reproducible\n    bracketing: [1]",
                "f.yaml:23:17: jobs[0].bracketing: rank 0 is missing"},
        BadLine{22, "    order: reproducible\n    bracketing: [1, []]",
                "f.yaml:23:21: jobs[0].bracketing: has an empty list"},
        BadLine{22, "    order: reproducible\n    partials: narrow\n    bracketing: [[1], 0]",
                "f.yaml:24:17: jobs[0].bracketing: inner brackets would be rounded"},
        BadLine{
            22, "    partials: narrow\n    reductions: [float32 mean, float16 mean]",
            "f.yaml:23:32: jobs[0].reductions[1]: 'float16 mean' makes no sense: a mean of 16-bit "
            "floats needs partials: wide"},
        BadLine{22, "    order: reproducible\n    completion_trigger: streaming",
                "f.yaml:23:25: jobs[0].completion_trigger: sums in order of arrival are not"},
        BadLine{22, "    quota: 3", "f.yaml:22:12: jobs[0].quota: a static job has its window"},
        BadLine{22, "    priority: 3",
                "f.yaml:22:15: jobs[0].priority: a static job shares no slots"},
        BadLine{22, "    slots: dynamic\n    priority: 3",
                "f.yaml:23:15: jobs[0].priority: no job loses a slot here"},
        BadLine{22, "    release: returned",
                "f.yaml:22:14: jobs[0].release: no result returns to a switch that makes it"},
        BadLine{6, "  slots: 63",
                "f.yaml:6:10: switch.slots: 63 slots cannot hold the windows of all jobs"}));

// Every type with every op, in every mode that sums are made in: an invalid pair is refused by both
// names and with the reason, alone, and whether or not a valid one stands before it.
TEST(Reductions, T14_EveryInvalidPairIsRefusedWithBothNames) {
  for (const char* const mode :
       {"wide\n    order: fast", "wide\n    arithmetic: modular\n    order: reproducible",
        "narrow\n    order: fast", "narrow\n    arithmetic: modular",
        "narrow\n    order: reproducible\n    trigger: collect"}) {
    const bool narrow = std::string_view(mode).starts_with("narrow");
    std::size_t refused = 0;
    wire::for_each_reduction(
        narrow ? wire::Partials::narrow : wire::Partials::wide,
        [&](wire::DType, const char* type, wire::ReduceOp, const char* op, const char* why) {
          const std::string pair = std::string(type) + ' ' + op;
          const auto errors =
              errors_of(sample_with(22, std::string("    partials: ") + mode +
                                            "\n    reductions: [int8 max, " + pair + "]"));
          ASSERT_EQ(errors.size(), why == nullptr ? 0u : 1u) << pair << ", " << mode;
          if (why == nullptr) return;
          ++refused;
          EXPECT_NE(errors[0].find("jobs[0].reductions[1]: '" + pair + "' makes no sense: " + why),
                    std::string::npos)
              << errors[0];
        });
    EXPECT_EQ(refused, 34u + (narrow ? 2u : 0u));  // 7 means, 4 x 6 of floats, 3 of bool
  }
}

TEST(Slots, DynamicJobNeedsAPoolOfItsWindow) {
  std::string text = sample_with(6, "  slots: 32");
  text.replace(text.find("    integrity: udp-checksum"), 27, "    slots: dynamic");
  const auto errors = errors_of(text);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].starts_with(
      "f.yaml:17:13: jobs[0].window: a window of 64 would collide with itself in a pool of 32"))
      << errors[0];
}

TEST(Sums, GoodOnesAreRead) {
  const SwitchConfig c = parse_switch_config(
      sample_with(22,
                  "    order: reproducible\n    bracketing: [[1], 0]\n    trigger: collect\n"
                  "    arithmetic: modular\n    reductions: [float32 sum, int8 max]\n"
                  "    verify: true\n    release: returned\n    on_deadline: abort"),
      "f.yaml");
  const JobConfig& job = c.jobs[0];
  EXPECT_EQ(job.order, wire::Order::reproducible);
  ASSERT_TRUE(job.bracketing);
  EXPECT_EQ(job.bracketing->items[0].items[0].rank, 1u);
  EXPECT_EQ(job.reductions[1].dtype, wire::DType::int8);
  EXPECT_EQ(job.release, Release::returned);
  EXPECT_EQ(job.on_deadline, OnDeadline::abort);
  EXPECT_EQ(dump(parse_switch_config(dump(c), "dump")), dump(c));
}

}  // namespace
}  // namespace tributary::config
