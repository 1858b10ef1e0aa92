#include "manager/service/job_distance.h"

#include <gtest/gtest.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

TEST(JobDistance, CountsHopsToTheNearestSwitchOfTheJob) {
  Admission admission({{.name = "a"}}, {});
  admission.set_topology(assemble(two_level_tree()));
  admission.submit(parse_job_request("tenant: a\njob: {name: train, workers: 2}\n", "j"), {});
  EXPECT_TRUE(job_distances(admission).hops.empty());
  admission.advance({});
  const Distances found = job_distances(admission);
  ASSERT_EQ(admission.jobs().at("train").needs.size(), 1u);
  const std::string site = admission.jobs().at("train").needs.begin()->first;
  EXPECT_EQ(found.of("train", site), 0u);
  EXPECT_EQ(found.of("train", "root"), 1u);
  EXPECT_EQ(found.of("train", site == "A" ? "B" : "A"), 2u);
  EXPECT_EQ(found.of("other", "A"), 16u);
}

}  // namespace
}  // namespace tributary::manager
