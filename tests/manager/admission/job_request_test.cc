#include "manager/admission/job_request.h"

#include <gmock/gmock.h>

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    parse_job_request(text, "job.yaml");
  } catch (const config::ConfigErrors& error) {
    return error.what();
  }
  return "no error";
}

const char* const kJob =
    "tenant: vision\npriority: 5\nlease: 30s\njob:\n  name: resnet\n  workers: 3\n"
    "  window: 32\n  members:\n    - rank: 0\n      worker: w1\n";

TEST(JobRequest, HasTheKeysOfATopologysJob) {
  const JobRequest request = parse_job_request(kJob, "job.yaml");
  EXPECT_EQ(request.tenant, "vision");
  EXPECT_EQ(request.priority, 5u);
  EXPECT_EQ(request.lease, Duration::seconds(30));
  EXPECT_EQ(request.job.config.name, "resnet");
  EXPECT_EQ(request.job.config.window, 32u);
  EXPECT_EQ(request.job.members.at(0).worker, "w1");
  EXPECT_EQ(request.job.config.id, 0u);
}

TEST(JobRequest, WhatIsWrittenReadsBack) {
  const JobRequest request = parse_job_request(kJob, "job.yaml");
  const std::string text = dump(request);
  EXPECT_EQ(dump(parse_job_request(text, "again.yaml")), text);
  EXPECT_THAT(text, testing::Not(HasSubstr("id:")));
  EXPECT_THAT(text, HasSubstr("\njob:\n"));
}

TEST(JobRequest, T13_StragglersMayBeTheManagers) {
  const std::string job = "job:\n  name: a\n  workers: 2\n";
  EXPECT_EQ(parse_job_request("tenant: a\n" + job, "f").policy, PolicyOwner::by_switch);
  const std::string managed =
      "tenant: a\npolicy: manager\n" + job + "  stragglers: {exclude: largest}\n";
  const JobRequest request = parse_job_request(managed, "f");
  EXPECT_EQ(request.policy, PolicyOwner::manager);
  EXPECT_EQ(parse_job_request(dump(request), "f").policy, PolicyOwner::manager);
  EXPECT_THAT(error_of("tenant: a\npolicy: manager\n" + job), HasSubstr("leaves it nothing to do"));
  EXPECT_THAT(error_of("tenant: a\npolicy: me\n" + job), HasSubstr("policy: 'me'"));
}

TEST(JobRequest, T11_TheChoiceAmongHostsMayBeTheManagers) {
  const std::string job =
      "tenant: a\npolicy: manager\njob:\n  name: a\n  workers: 2\n  completion_hosts: ";
  for (const char* choice : {"least_load", "two_stage"})
    EXPECT_EQ(parse_job_request(job + "[A, root]\n  host_choice: " + choice + "\n", "f").policy,
              PolicyOwner::manager);
  for (const char* hosts :
       {"[A, root]\n  host_choice: random\n", "[A, root]\n", "[root]\n  host_choice: least_load\n"})
    EXPECT_THAT(error_of(job + hosts), HasSubstr("least_load or two_stage")) << hosts;
}

TEST(JobRequest, MistakesAreNamedWithLineAndKey) {
  EXPECT_THAT(error_of("priority: 1\njob:\n  name: a\n  workers: 2\n"),
              HasSubstr("tenant: is missing"));
  EXPECT_THAT(error_of("tenant: a\njob:\n  name: a\n  workers: 2\n  id: 7\n"),
              HasSubstr("job.id: is the manager's to give"));
  EXPECT_THAT(error_of("tenant: a\njob:\n  workers: 2\n"), HasSubstr("job.name: is missing"));
  EXPECT_THAT(error_of("tenant: a\njob:\n  name: a\n  workers: 2\n  window: 5\n"),
              HasSubstr("job.yaml:5:11: job.window: '5' is not a power of two"));
  EXPECT_THAT(error_of("tenant: a\npriority: 101\njob:\n  name: a\n  workers: 2\n"),
              HasSubstr("priority: '101'"));
  EXPECT_THAT(error_of("tenant: a\njob: 3\n"), HasSubstr("job: is"));
}

}  // namespace
}  // namespace tributary::manager
