// A6: groups as Megatron-LM's and DeepSpeed's documentation lists them, and layouts that can't be.
#include "worker/layout/parallel_layout.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tributary::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Groups = std::vector<Group>;

// Megatron-LM, docstring of initialize_model_parallel(): 16 GPUs, tensor 2, pipeline 4.
const ParallelLayout kMegatron{16, {{"tensor", 2}, {"data", 0}, {"pipeline", 4}}};

TEST(ParallelLayout, A6_TensorGroupsAsInMegatron) {
  EXPECT_EQ(groups_of(kMegatron, "tensor"),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
}

TEST(ParallelLayout, A6_DataGroupsAsInMegatron) {
  EXPECT_EQ(groups_of(kMegatron, "data"),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
}

TEST(ParallelLayout, A6_PipelineGroupsAsInMegatron) {
  EXPECT_EQ(groups_of(kMegatron, "pipeline"),
            (Groups{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
}

// The model-parallel groups of the same docstring: tensor and pipeline together.
TEST(ParallelLayout, A6_ModelGroupsVaryInTwoDimensions) {
  EXPECT_EQ(groups_of(kMegatron, "tensor+pipeline"),
            (Groups{{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}}));
}

// Megatron-LM's gradients are reduced over data and context: order tp-cp-dp-pp.
TEST(ParallelLayout, A6_ContextIsBetweenTensorAndData) {
  const ParallelLayout layout{16, {{"tensor", 2}, {"context", 2}, {"data", 2}, {"pipeline", 2}}};
  EXPECT_THAT(groups_of(layout, "context").front(), ElementsAre(0, 2));
  EXPECT_THAT(groups_of(layout, "data").front(), ElementsAre(0, 4));
  EXPECT_EQ(groups_of(layout, "data+context"),
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
}

// DeepSpeed, deepspeed/utils/groups.py, "E + D parallel": world 16, expert 2.
TEST(ParallelLayout, A6_ExpertAndDataGroupsAsInDeepSpeed) {
  const ParallelLayout layout{16, {{"data", 16}}, 2};
  EXPECT_EQ(groups_of(layout, "expert"),
            (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(groups_of(layout, "expert_data"),
            (Groups{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}}));
}

// The same file, "E + M + D parallel": world 16, model 2, expert 4.
TEST(ParallelLayout, A6_ExpertModelAndDataGroupsAsInDeepSpeed) {
  const ParallelLayout layout{16, {{"tensor", 2}, {"data", 0}}, 4};
  EXPECT_EQ(groups_of(layout, "data"),
            (Groups{{0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15}}));
  EXPECT_EQ(groups_of(layout, "expert"),
            (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
  EXPECT_EQ(groups_of(layout, "expert_data"),
            (Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}}));
}

TEST(ParallelLayout, A6_EachKindCoversTheWorldOnce) {
  const ParallelLayout layout{
      240, {{"pipeline", 5}, {"context", 2}, {"tensor", 4}, {"data", 6}}, 3};
  for (const char* kind : {"tensor", "data", "pipeline+data", "expert", "expert_data+context",
                           "tensor+context+data+pipeline"}) {
    std::vector<int> seen(240);
    for (const Group& group : groups_of(layout, kind))
      for (const std::uint32_t rank : group) ++seen[rank];
    EXPECT_THAT(seen, ::testing::Each(1)) << kind;
  }
}

std::string refusal(const ParallelLayout& layout, std::string_view kind = "") {
  try {
    check(layout);
    if (!kind.empty()) groups_of(layout, kind);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(ParallelLayout, A6_ImpossibleLayoutsAreRefusedWithTheArithmetic) {
  EXPECT_EQ(refusal({16, {{"tensor", 3}, {"pipeline", 4}}}),
            "tensor 3 x pipeline 4 is not the world size 16: the product is 12");
  EXPECT_EQ(refusal({16, {{"tensor", 3}, {"data", 0}, {"pipeline", 4}}}),
            "tensor 3 x data 0 x pipeline 4 does not divide the world size 16: the product is 12");
  EXPECT_THAT(refusal({8, {{"tensor", 65536}, {"data", 65536}, {"x", 65536}}}),
              HasSubstr("the product is larger"));
  EXPECT_THAT(refusal({0, {}}), HasSubstr("at least 1"));
  EXPECT_THAT(refusal({4, {{"tensor", 0}, {"data", 0}}}), HasSubstr("both have degree 0"));
  EXPECT_EQ(refusal({8, {{"data", 8}}, 3}), "expert 3 does not divide data 8");
  EXPECT_EQ(refusal({8, {{"data", 8}}, 0}), "expert 0 does not divide data 8");
  EXPECT_THAT(refusal({4, {{"data", 2}, {"data", 2}}}), HasSubstr("stands twice"));
  EXPECT_THAT(refusal({4, {{"expert", 4}}}), HasSubstr("inside data"));
}

TEST(ParallelLayout, A6_UnknownKindsAreRefusedWithThoseThatThereAre) {
  EXPECT_EQ(refusal(kMegatron, "tensor+sequence"),
            "no dimension is called 'sequence' in 'tensor+sequence'; there are: tensor, expert, "
            "expert_data, pipeline, data");
  EXPECT_THAT(refusal(kMegatron, "tensor+"), HasSubstr("''"));
}

// A1: two nodes of 8 units, as in Megatron's docstring: a data group stays on one node, a pipeline
// group is on both.
TEST(ParallelLayout, A1_A6_TaskInformationCountsUnitsOfEachNode) {
  const auto data = groups_of(kMegatron, "data");
  EXPECT_THAT(task_information(data[5], 8), ElementsAre(NodeUnits{1, 2}));
  const auto pipeline = groups_of(kMegatron, "pipeline");
  EXPECT_THAT(task_information(pipeline[0], 8), ElementsAre(NodeUnits{0, 2}, NodeUnits{1, 2}));
  EXPECT_THROW(task_information(data[0], 0), std::invalid_argument);
}

TEST(ParallelLayout, A6_EachGroupIsAJobOfItsOwn) {
  const ParallelLayout layout{4, {{"tensor", 2}, {"data", 2}, {"pipeline", 1}}};
  const std::vector<std::string> kinds = {"data", "pipeline", "tensor"};
  EXPECT_THAT(jobs_of(layout, kinds, 10),
              ElementsAre(GroupJob{10, "data", {0, 2}}, GroupJob{11, "data", {1, 3}},
                          GroupJob{12, "tensor", {0, 1}}, GroupJob{13, "tensor", {2, 3}}))
      << "a pipeline of one stage needs none";
  EXPECT_THROW(jobs_of(layout, kinds, 0xFFFFFFFF), std::invalid_argument);
}

}  // namespace
}  // namespace tributary::layout
