// C4: names as users write them, and how their errors read.
#include "worker/names/name_call.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tributary::worker {
namespace {

std::string complete(const std::string& text, NameCall::Kind kind = NameCall::Kind::get) {
  return complete_name(text, 7, "513", kind);
}

std::string wrong(const std::string& text, NameCall::Kind kind = NameCall::Kind::get) {
  try {
    complete(text, kind);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(NameCall, ShortNamesAreCompleted) {
  EXPECT_EQ(complete("grad/v=1"), "/job/7/run=513/grad/v=1");
  EXPECT_EQ(complete("a/b/v=1/worker=2"), "/job/7/run=513/a/b/v=1/worker=2");
  EXPECT_EQ(complete("/job/7/grad/v=1"), "/job/7/run=513/grad/v=1");
  EXPECT_EQ(complete("/job/7/run=x/grad/v=1/seg=2"), "/job/7/run=x/grad/v=1/seg=2");
}

TEST(NameCall, BadNamesSayWhatIsAllowed) {
  EXPECT_EQ(wrong("/job/8/grad/v=1"),
            "name '/job/8/grad/v=1' is of job 8; allowed: names of job 7");
  EXPECT_NE(wrong("grad").find("allowed: TENSOR/v=VERSION[/worker=RANK]"), std::string::npos);
  EXPECT_NE(wrong("../x/v=1").find("has a part '.' or '..'"), std::string::npos);
  EXPECT_NE(wrong("gr\nad/v=1").find("name 'gr?ad/v=1' has a space"), std::string::npos);
  EXPECT_NE(wrong(std::string(140, 'x') + "/v=1").find("is too long"), std::string::npos);
  EXPECT_NE(wrong("grad/v=1/seg=0", NameCall::Kind::put).find("names a segment"),
            std::string::npos);
}

TEST(NameCall, EveryReasonHasAText) {
  NameCall call;
  call.name = "/job/7/run=1/grad/v=1";
  for (int reason = 48; reason <= 56; ++reason) {
    const Failure f = name_refused(call, static_cast<wire::Reason>(reason));
    EXPECT_EQ(f.text.find("refused ("), std::string::npos) << f.text;
    EXPECT_TRUE(f.text.starts_with("get of /job/7/run=1/grad/v=1: ")) << f.text;
  }
}

TEST(NameCall, SilenceSaysWhatWasLastHeard) {
  NameCall call;
  call.kind = NameCall::Kind::put;
  call.name = "/n";
  call.limit = Duration::ms(1500);
  EXPECT_NE(
      name_unanswered(call, wire::Reason::none).text.find("put of /n: no answer within 1.5 s"),
      std::string::npos);
  EXPECT_NE(name_unanswered(call, wire::Reason::names_busy).text.find("too many requests wait"),
            std::string::npos);
}

}  // namespace
}  // namespace tributary::worker
