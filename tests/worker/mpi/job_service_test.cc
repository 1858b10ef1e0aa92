// The job list over its socket: what ranks ask, and who is not answered.
#include "worker/mpi/job_service.h"

#include <gmock/gmock.h>

#include "tests/testbed/no_descriptors.h"

namespace tributary::mpi {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kLoopback = 0x7F000001;

std::uint32_t job_of(const std::variant<std::uint32_t, std::string>& answer) {
  return std::get<std::uint32_t>(answer);
}

TEST(JobService, AnswersWhatItsBoardSays) {
  const JobService service(kLoopback, {3, 6});
  const JobClient client(service.address());
  EXPECT_EQ(job_of(client.take(2)), 3u);
  client.wrong_size(3, 2);
  EXPECT_EQ(job_of(client.take(2)), 6u);
  EXPECT_THAT(std::get<std::string>(client.take(2)), HasSubstr("no job is left"));
  client.left(6);
  client.left(6);
  EXPECT_EQ(job_of(client.take(2)), 6u);
  client.broken(6);
  client.left(6);
  client.left(6);
  EXPECT_THAT(std::get<std::string>(client.take(2)), HasSubstr("1 could not be joined"));
}

TEST(JobService, TakesNoJobForAStranger) {
  const JobService service(kLoopback, {3});
  ServiceAddress wrong = service.address();
  wrong.secret ^= 1;
  EXPECT_TRUE(std::holds_alternative<std::string>(JobClient(wrong).take(2)));
  EXPECT_EQ(job_of(JobClient(service.address()).take(2)), 3u);
}

TEST(JobService, ASilentServiceHasNoJob) {
  ServiceAddress gone;
  {
    const JobService service(kLoopback, {3});
    gone = service.address();
  }
  EXPECT_THAT(std::get<std::string>(JobClient(gone).take(2)),
              HasSubstr("does not answer at 127.0.0.1:"));
}

TEST(JobService, AnswersWhereNoDescriptorIsLeft) {
  const JobService service(kLoopback, {3, 6, 9});
  const JobClient client(service.address());
  const int of_the_client = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const testbed::NoDescriptors none;
  close(of_the_client);
  for (const std::uint32_t job : {3u, 6u, 9u}) {
    const auto answer = client.take(2);
    ASSERT_TRUE(std::holds_alternative<std::uint32_t>(answer)) << std::get<std::string>(answer);
    EXPECT_EQ(job_of(answer), job);
  }
}

TEST(JobService, OwnAddressIsThatOfTheRoute) {
  EXPECT_EQ(own_address_towards("udp://127.0.0.1:6000"), kLoopback);
  EXPECT_EQ(own_address_towards("memif:///x?id=0&switch=10.0.0.1"), kLoopback);
  EXPECT_EQ(own_address_towards("udp://nonsense"), kLoopback);
}

}  // namespace
}  // namespace tributary::mpi
