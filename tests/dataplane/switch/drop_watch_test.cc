#include "dataplane/switch/drop_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Optional;

Instant at(std::int64_t seconds) {
  return Instant() + Duration::seconds(seconds);
}

TEST(DropWatch, NamesPortAndCauseAtOnceAndThenSeldom) {
  DropWatch watch;
  EXPECT_FALSE(watch.look(0, 0, "w0", 0, at(0)));
  EXPECT_THAT(watch.look(0, 0, "w0", 3, at(1)),
              Optional(HasSubstr("port w0: 3 frame(s) came with the switch's own address")));
  EXPECT_FALSE(watch.look(0, 0, "w0", 9, at(60)));
  EXPECT_THAT(watch.look(0, 0, "w0", 9, at(61)), Optional(HasSubstr("port w0: 6 frame(s)")));
  EXPECT_FALSE(watch.look(0, 0, "w0", 9, at(600)));
  EXPECT_THAT(watch.look(1, 1, "w1", 1, at(61)),
              Optional(HasSubstr("ethtool -K INTERFACE tx off")));
}

TEST(DropWatch, BeginsAnewWithAnotherPort) {
  DropWatch watch;
  ASSERT_TRUE(watch.look(0, 0, "w0", 7, at(1)));
  EXPECT_THAT(watch.look(0, 0, "w9", 2, at(2)), Optional(HasSubstr("port w9: 2 frame(s)")));
}

}  // namespace
}  // namespace tributary::dataplane
