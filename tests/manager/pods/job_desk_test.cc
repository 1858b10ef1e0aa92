#include "manager/pods/job_desk.h"

#include <gtest/gtest.h>

#include "config/text/error.h"

namespace tributary::manager {
namespace {

TEST(JobDesk, AGroupsRequestIsInItsAnnotation) {
  PodGroup group;
  EXPECT_FALSE(has_job(group));
  EXPECT_EQ(job_request_of(group).job.config.name, "");
  group.metadata.annotations[kJobRequestAnnotation] = "tenant: a\njob: {name: j, workers: 2}\n";
  EXPECT_TRUE(has_job(group));
  EXPECT_EQ(job_request_of(group).tenant, "a");
  EXPECT_EQ(job_request_of(group).job.config.workers, 2u);
  group.metadata.annotations[kJobRequestAnnotation] = "tenant: a\n";
  EXPECT_THROW(job_request_of(group), config::ConfigErrors);
}

}  // namespace
}  // namespace tributary::manager
