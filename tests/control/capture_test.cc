#include "control/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "control/pcapng.h"

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::string& line) {
  try {
    const auto request = capture_request(line);
    if (request) capture_wish(*request, {"w0", "w1"});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(CaptureRequest, OtherCommandsAreNotItsBusiness) {
  EXPECT_FALSE(capture_request(R"({"command":"show","what":"ports"})"));
  EXPECT_FALSE(capture_request(R"({"command":5})"));
  EXPECT_FALSE(capture_request("[]"));
  EXPECT_FALSE(capture_request("not JSON"));
}

TEST(CaptureRequest, DefaultsAreEverything) {
  const auto request = capture_request(R"({"command":"capture"})");
  ASSERT_TRUE(request);
  const auto wish = capture_wish(*request, {"w0", "w1"});
  EXPECT_TRUE(wish.rx && wish.tx && wish.drop);
  EXPECT_THAT(wish.ports, ElementsAre(true, true));
  EXPECT_EQ(wish.snap, dataplane::CaptureWish::kMostSnap);
  EXPECT_EQ(request->count, 0u);
}

TEST(CaptureRequest, Choices) {
  const auto request = capture_request(
      R"({"command":"capture","ports":["w1"],"points":["drop"],"count":5,"snap":64})");
  ASSERT_TRUE(request);
  const auto wish = capture_wish(*request, {"w0", "w1"});
  EXPECT_TRUE(wish.drop && !wish.rx && !wish.tx);
  EXPECT_THAT(wish.ports, ElementsAre(false, true));
  EXPECT_EQ(wish.snap, 64u);
  EXPECT_EQ(request->count, 5u);
}

TEST(CaptureRequest, MistakesSayWhatIsAllowed) {
  EXPECT_THAT(error_of(R"({"command":"capture","port":"w0"})"),
              HasSubstr("unknown key 'port'; allowed: command, ports, points"));
  EXPECT_THAT(error_of(R"({"command":"capture","ports":["w7"]})"),
              HasSubstr("no port is called 'w7'"));
  EXPECT_THAT(error_of(R"({"command":"capture","ports":[1]})"), HasSubstr("list of ports"));
  EXPECT_THAT(error_of(R"({"command":"capture","points":[]})"), HasSubstr("rx, tx, drop"));
  EXPECT_THAT(error_of(R"({"command":"capture","points":["up"]})"), HasSubstr("rx, tx, drop"));
  EXPECT_THAT(error_of(R"({"command":"capture","snap":0})"), HasSubstr("from 1 to 16384"));
  EXPECT_THAT(error_of(R"({"command":"capture","count":-1})"), HasSubstr("\"count\""));
  EXPECT_THAT(error_of(R"({"command":"capture","filter":"udp prot"})"), HasSubstr("'udp prot'"));
}

TEST(Pcapng, BlocksHaveTheirLengthOnBothEnds) {
  std::string out = "one";  // whatever stands before
  pcapng_section(out, "tributary");
  pcapng_interface(out, "w0", 64);
  const std::array<std::byte, 5> bytes{};
  pcapng_packet(out, {.interface = 0, .when_ns = 1, .length = 9, .bytes = bytes, .comment = "why"});
  pcapng_losses(out, 0, 2, 3);
  std::vector<std::uint32_t> types;
  std::size_t at = 3;
  while (at < out.size()) {
    std::uint32_t type = 0, first = 0, last = 0;
    ASSERT_LE(at + 12, out.size());
    std::memcpy(&type, out.data() + at, 4);
    std::memcpy(&first, out.data() + at + 4, 4);
    ASSERT_EQ(first % 4, 0u);
    ASSERT_LE(at + first, out.size());
    std::memcpy(&last, out.data() + at + first - 4, 4);
    EXPECT_EQ(first, last);
    types.push_back(type);
    at += first;
  }
  EXPECT_THAT(types, ElementsAre(0x0A0D0D0A, 1, 6, 5));
}

}  // namespace
}  // namespace tributary::control
