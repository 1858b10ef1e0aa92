#include "manager/admission/free_workers.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

class FreeWorkersTest : public testing::Test {
 protected:
  void set_tree(const Inventory& inventory) {
    topology = assemble(inventory);
    index = TreeIndex(topology);
    workers.set_workers(topology, index);
  }
  bool drain(const std::string& worker, bool drained) {
    return workers.drain(worker, drained, topology, index);
  }
  bool is_free(const std::string& worker) { return workers.is_free(*index.worker_at(worker)); }
  std::uint32_t free_near(const std::string& worker) {
    return workers.at_site(*index.site_of(*index.worker_at(worker)));
  }

  config::Topology topology;
  TreeIndex index;
  FreeWorkers workers;
};

TEST_F(FreeWorkersTest, ADrainedWorkerIsNotFreeInTheNextTreeEither) {
  set_tree(two_level_tree());
  EXPECT_EQ(free_near("w0"), 3u);
  EXPECT_TRUE(drain("w1", true));
  EXPECT_FALSE(drain("w1", true)) << "it was so before";
  EXPECT_FALSE(is_free("w1"));
  EXPECT_EQ(free_near("w0"), 2u);
  set_tree(two_level_tree());
  EXPECT_FALSE(is_free("w1"));
  EXPECT_EQ(free_near("w0"), 2u);
  EXPECT_TRUE(drain("w1", false));
  EXPECT_TRUE(is_free("w1"));
  EXPECT_EQ(free_near("w0"), 3u);
}

TEST_F(FreeWorkersTest, LeasedPortsAreFreeForNoJob) {
  set_tree(leased_tree());
  drain("w1", true);
  drain("w1", false);
  EXPECT_FALSE(is_free("w1"));
  EXPECT_EQ(free_near("w1"), 0u);
}

TEST_F(FreeWorkersTest, JobsAreCountedByMember) {
  set_tree(two_level_tree());
  config::TopologyJob job;
  job.members = {{0, "w3"}, {1, "w4"}, {2, "gone"}};
  workers.count(job, index, true);
  workers.count(job, index, true);
  workers.count(job, index, false);
  EXPECT_EQ(workers.jobs_of(*index.worker_at("w3")), 1u);
  EXPECT_EQ(workers.jobs_of(*index.worker_at("w0")), 0u);
}

}  // namespace
}  // namespace tributary::manager
