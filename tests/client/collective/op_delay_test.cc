// Delays of a rank that is late on purpose, and texts that are refused.
#include "tools/client/collective/op_delay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "tests/testbed/scratch.h"

namespace tributary::client {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    (void)parse_lateness(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

TEST(OpDelay, EveryOpOrEveryNth) {
  OpDelay each("200ms", "");
  EXPECT_EQ(each.next(), Duration::ms(200));
  EXPECT_EQ(each.next(), Duration::ms(200));
  OpDelay third(" 5us every 3\n", "");
  for (int op = 0; op < 7; ++op)
    EXPECT_EQ(third.next(), op % 3 == 0 ? Duration::us(5) : Duration()) << op;
  for (const char* none : {"", "off", " \n"}) EXPECT_EQ(OpDelay(none, "").next(), Duration());
}

TEST(OpDelay, ABadOneIsRefusedWithWhatIsAllowed) {
  for (const char* bad : {"200", "-1ms", "2h", "fast", "1ms every", "1ms every 0", "1ms every -1",
                          "1ms every 1000001", "1ms every 3 ops", "1ms  every 3", "every 3"})
    EXPECT_THAT(refusal(bad), HasSubstr("allowed: off, or a duration up to 1h")) << bad;
  EXPECT_THAT(refusal(std::string(5000, '1')), testing::SizeIs(testing::Lt(300u)));
}

TEST(OpDelay, TheFileIsReadBeforeEachOp) {
  const testbed::Scratch scratch;
  const std::string path = scratch.file("delay");
  const auto say = [&](const char* text) { std::ofstream(path) << text; };
  OpDelay delay("", path);
  EXPECT_EQ(delay.next(), Duration()) << "no file";
  say("30ms\n");
  EXPECT_EQ(delay.next(), Duration::ms(30));
  say("off");
  EXPECT_EQ(delay.next(), Duration());
  say("soon");
  try {
    (void)delay.next();
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + ": delay 'soon'; allowed: "));
  }
  say("7ms every 2");
  OpDelay fixed("1ms", path);
  EXPECT_EQ(fixed.next(), Duration::ms(1)) << "what the option says counts";
}

}  // namespace
}  // namespace tributary::client
