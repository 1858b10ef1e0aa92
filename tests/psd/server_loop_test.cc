// The server's log about jobs that it refuses.
#include "tools/psd/server_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::psd {
namespace {

using completion::Objection;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ServerLoop, RefusalsSayWhatToChange) {
  completion::ServerSeatStatus seat;
  seat.job = 7;
  seat.shard = 1;
  seat.objection = Objection::shared_model;
  EXPECT_THAT(describe_refusal(seat, 0x0A4D00FE),
              AllOf(HasSubstr("job 7, shard 1: refused: "), HasSubstr("10.77.0.254"),
                    HasSubstr("name this server alone in completion_hosts")));
  seat.objection = Objection::settings;
  EXPECT_THAT(describe_refusal(seat, 0x0A4D00FE),
              AllOf(HasSubstr("10.77.0.254 was told other things"), HasSubstr("chunk_bytes")));
}

}  // namespace
}  // namespace tributary::psd
