#include "worker/session/start_check.h"

#include <gmock/gmock.h>

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StartCheck : public ::testing::Test {
 protected:
  StartCheck() {
    options.size = 3;
    info.window = 4;
    info.chunk_bytes = 64;
    info.workers = 3;
    info.shards = 1;
    info.planes = 1;
    info.lease_ms = 500;
  }
  [[nodiscard]] std::string object(bool fragments = false) const {
    return object_to_start(info, fragments, options);
  }

  SessionOptions options;
  wire::StartInfo info;
};

TEST_F(StartCheck, AcceptsWhatItCanRun) {
  EXPECT_THAT(object(), IsEmpty());
}

TEST_F(StartCheck, NamesBothCountsOfWorkers) {
  info.workers = 4;
  EXPECT_EQ(object(), "the switch counts 4 workers, this rank 3");
}

TEST_F(StartCheck, SaysWhatIsAllowed) {
  info.window = 3;
  EXPECT_THAT(object(), HasSubstr("window 3 is not a power of two"));
  info.window = 4;
  info.chunk_bytes = 12;
  EXPECT_THAT(object(), HasSubstr("chunk_bytes 12 is not a multiple of 8"));
  info.chunk_bytes = 64;
  info.shards = 0;
  EXPECT_THAT(object(), HasSubstr("0 shards; 1 to"));
  info.shards = 1;
  info.lease_ms = 0;
  EXPECT_EQ(object(), "the lease is 0");
}

TEST_F(StartCheck, A2_ThePlaneHasToBeOneOfTheJobs) {
  options.plane = 1;
  EXPECT_EQ(object(), "the job has 1 planes, this is number 1");
  info.planes = 2;
  EXPECT_THAT(object(), IsEmpty());
}

TEST_F(StartCheck, RefusesHowALaterVersionSums) {
  info.arithmetic = 2;
  EXPECT_THAT(object(), HasSubstr("arithmetic 2) is unknown to this library"));
}

// Fragments count only where both ends make and take them.
TEST_F(StartCheck, C1_AChunkHasToFitThePath) {
  info.chunk_bytes = 4096;
  options.max_datagram_bytes = 1472;
  EXPECT_THAT(object(), HasSubstr("but the path carries 1472"));
  options.max_cut_bytes = 8192;
  EXPECT_THAT(object(false), HasSubstr("but the path carries 1472"));
  EXPECT_THAT(object(true), IsEmpty());
}

}  // namespace
}  // namespace tributary::worker
