#include "control/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/pcapng.h"
#include "tests/control/running_switch.h"

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

TEST(CaptureRequest, ATraceIsOfDecisionsAndWhatComesOfThem) {
  const auto request = capture_request(R"({"command":"trace","count":5,"ports":["w1"]})");
  ASSERT_TRUE(request);
  const auto wish = capture_wish(*request, {"w0", "w1"});
  EXPECT_TRUE(wish.verdict && wish.tx && wish.drop && !wish.rx);
  EXPECT_THAT(wish.ports, ElementsAre(false, true));
  EXPECT_EQ(request->count, 5u);
  EXPECT_THAT(error_of(R"({"command":"trace"})"), HasSubstr("\"count\""));
  EXPECT_THAT(error_of(R"({"command":"trace","count":0})"), HasSubstr("1 or more"));
  EXPECT_THAT(error_of(R"({"command":"trace","count":1,"snap":64})"),
              HasSubstr("unknown key 'snap'; allowed: command, ports, filter, count"));
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

// Types of the blocks of a file that begins at `at`; whole ones only.
std::vector<std::uint32_t> block_types(const std::string& file, std::size_t at) {
  std::vector<std::uint32_t> types;
  while (at < file.size()) {
    std::uint32_t type = 0, first = 0, last = 0;
    if (at + 12 > file.size()) break;
    std::memcpy(&type, file.data() + at, 4);
    std::memcpy(&first, file.data() + at + 4, 4);
    if (first % 4 != 0 || at + first > file.size()) break;
    std::memcpy(&last, file.data() + at + first - 4, 4);
    if (first != last) break;
    types.push_back(type);
    at += first;
  }
  EXPECT_EQ(at, file.size()) << "a block is cut, or its two lengths differ";
  return types;
}

TEST(Pcapng, BlocksHaveTheirLengthOnBothEnds) {
  std::string out = "one";  // whatever stands before
  pcapng_section(out, "tributary");
  pcapng_interface(out, "w0", 64);
  const std::array<std::byte, 5> bytes{};
  pcapng_packet(out, {.interface = 0, .when_ns = 1, .length = 9, .bytes = bytes, .comment = "why"});
  pcapng_losses(out, 0, 2, 3);
  EXPECT_THAT(block_types(out, 3), ElementsAre(0x0A0D0D0A, 1, 6, 5));
}

// A device that always has frames.
TEST(CaptureServer, EndsWellUnderLoadWhenTheClientDoes) {
  config::SwitchConfig config = null_config();
  config.ports[0].devargs = "net_null2,size=64";
  RunningSwitch running(config);
  CaptureServer captures(running.get());
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  ASSERT_TRUE(captures.take(R"({"command":"capture","points":["rx"],"snap":64})", ends[1]));
  std::string got;
  std::array<char, 1 << 16> piece;
  const auto receive = [&] {
    const ssize_t n = recv(ends[0], piece.data(), piece.size(), 0);
    if (n > 0) got.append(piece.data(), static_cast<std::size_t>(n));
    return n > 0;
  };
  while (got.size() < 1 << 20) ASSERT_TRUE(receive());
  shutdown(ends[0], SHUT_WR);
  while (receive()) {
  }
  close(ends[0]);
  const auto types = block_types(got, got.find('\n') + 1);
  ASSERT_GT(types.size(), 5'000u);
  EXPECT_EQ(types.back(), 5u);
}

// Exactly as many lines as decisions were asked for, and then it ends by itself.
TEST(CaptureServer, ATraceEndsAfterSoManyFrames) {
  config::SwitchConfig config = null_config();
  config.ports[0].devargs = "net_null3,size=64";
  RunningSwitch running(config);
  CaptureServer captures(running.get());
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  ASSERT_TRUE(captures.take(R"({"command":"trace","count":100})", ends[1]));
  std::string got;
  std::array<char, 1 << 16> piece;
  for (ssize_t n = 0; (n = recv(ends[0], piece.data(), piece.size(), 0)) > 0;)
    got.append(piece.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  std::size_t decisions = 0;
  std::size_t drops = 0;
  std::istringstream lines(got.substr(got.find('\n') + 1));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("  dropped: ") != std::string::npos)
      ++drops;
    else if (line.find("; drop") != std::string::npos)
      ++decisions;
    else
      ADD_FAILURE() << line;
  }
  EXPECT_EQ(decisions, 100u);
  EXPECT_EQ(drops, 100u);
}

}  // namespace
}  // namespace tributary::control
