#include "control/capture/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/capture/pcapng.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr auto kEnd = R"({"command":"capture","end":true})";

std::string error_of(const std::string& line) {
  try {
    const auto request = capture_request(line);
    if (request) capture_wish(*request, {"w0", "w1"});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(CaptureRequestTimed, OtherCommandsAreNotItsBusiness) {
  EXPECT_FALSE(capture_request(R"({"command":"show","what":"ports"})"));
  EXPECT_FALSE(capture_request(R"({"command":5})"));
  EXPECT_FALSE(capture_request("[]"));
  EXPECT_FALSE(capture_request("not JSON"));
}

TEST(CaptureRequestTimed, DefaultsAreEverything) {
  const auto request = capture_request(R"({"command":"capture"})");
  ASSERT_TRUE(request);
  const auto wish = capture_wish(*request, {"w0", "w1"});
  EXPECT_TRUE(wish.rx && wish.tx && wish.drop);
  EXPECT_THAT(wish.ports, ElementsAre(true, true));
  EXPECT_EQ(wish.snap, dataplane::CaptureWish::kMostSnap);
  EXPECT_EQ(request->count, 0u);
}

TEST(CaptureRequestTimed, Choices) {
  const auto request = capture_request(
      R"({"command":"capture","ports":["w1"],"points":["drop"],"count":5,"snap":64})");
  ASSERT_TRUE(request);
  const auto wish = capture_wish(*request, {"w0", "w1"});
  EXPECT_TRUE(wish.drop && !wish.rx && !wish.tx);
  EXPECT_THAT(wish.ports, ElementsAre(false, true));
  EXPECT_EQ(wish.snap, 64u);
  EXPECT_EQ(request->count, 5u);
}

TEST(CaptureRequestTimed, ATraceIsOfDecisionsAndWhatComesOfThem) {
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

TEST(CaptureRequestTimed, MistakesSayWhatIsAllowed) {
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
  EXPECT_THAT(error_of(R"({"command":"capture","end":false})"), HasSubstr("must be true"));
  EXPECT_THAT(error_of(R"({"command":"capture","end":true,"count":1})"),
              HasSubstr("unknown key 'count'; allowed: command, end"));
  EXPECT_THAT(error_of(R"({"command":"trace","count":1,"end":true})"), HasSubstr("'end'"));
}

TEST(CaptureRequestTimed, TheEndOfTheOneThatRuns) {
  const auto request = capture_request(kEnd);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->end);
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

TEST(PcapngTimed, BlocksHaveTheirLengthOnBothEnds) {
  std::string out = "one";  // whatever stands before
  pcapng_section(out, "tributary");
  pcapng_interface(out, "w0", 64);
  const std::array<std::byte, 5> bytes{};
  pcapng_packet(out, {.interface = 0, .when_ns = 1, .length = 9, .bytes = bytes, .comment = "why"});
  pcapng_losses(out, 0, 2, 3);
  pcapng_losses(out, 0, 2, 3, "why");
  EXPECT_THAT(block_types(out, 3), ElementsAre(0x0A0D0D0A, 1, 6, 5, 5));
}

// A client that reads when it is told to.
class Reader {
 public:
  Reader() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  ~Reader() { close(ends_[0]); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void ask(CaptureServer& captures, const std::string& line) {
    ASSERT_TRUE(captures.take(line, ends_[1]));
  }
  // False: the stream has ended.
  bool receive() {
    std::array<char, 1 << 16> piece;
    const ssize_t n = recv(ends_[0], piece.data(), piece.size(), 0);
    if (n > 0) got.append(piece.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
  const std::string& receive_all() {
    while (receive()) {
    }
    return got;
  }
  // The reply's line.
  std::string reply() {
    while (got.find('\n') == std::string::npos && receive()) {
    }
    return got.substr(0, got.find('\n'));
  }
  [[nodiscard]] std::string stream() const { return got.substr(got.find('\n') + 1); }
  void want_no_more() { shutdown(ends_[0], SHUT_WR); }
  std::string got;

 private:
  std::array<int, 2> ends_{};
};

const std::string kMe = "process " + std::to_string(getpid());

// With a device that always has frames, or with none that has any.
class CaptureServerTestTimed : public testing::Test {
 protected:
  void begin(bool busy, std::chrono::nanoseconds patience = CaptureServer::kPatience) {
    config::SwitchConfig config = null_config();
    if (busy) config.ports[0].devargs = "net_null2,size=64";
    running_.emplace(config);
    captures.emplace(
        running_->get(), [this](const std::string& text) { reported.push_back(text); }, patience);
  }
  // A whole file that says at its end why it ended.
  static void expect_ended(Reader& reader, const std::string& why) {
    reader.receive_all();
    const auto types = block_types(reader.stream(), 0);
    ASSERT_FALSE(types.empty());
    EXPECT_EQ(types.back(), 5u);
    EXPECT_THAT(reader.stream().substr(reader.stream().size() - 200), HasSubstr("ended: " + why));
  }
  std::vector<std::string> reported;

 private:
  std::optional<RunningSwitch> running_;

 protected:
  std::optional<CaptureServer> captures;
};

TEST_F(CaptureServerTestTimed, EndsWellUnderLoadWhenTheClientDoes) {
  begin(true);
  Reader reader;
  reader.ask(*captures, R"({"command":"capture","points":["rx"],"snap":64})");
  while (reader.got.size() < 1 << 20) ASSERT_TRUE(reader.receive());
  reader.want_no_more();
  reader.receive_all();
  const auto types = block_types(reader.stream(), 0);
  ASSERT_GT(types.size(), 5'000u);
  EXPECT_EQ(types.back(), 5u);
  EXPECT_THAT(reader.stream(), testing::Not(HasSubstr("ended: ")));
}

// Exactly as many lines as decisions were asked for, and then it ends by itself.
TEST_F(CaptureServerTestTimed, ATraceEndsAfterSoManyFrames) {
  begin(true);
  Reader reader;
  reader.ask(*captures, R"({"command":"trace","count":100})");
  reader.receive_all();
  std::size_t decisions = 0;
  std::size_t drops = 0;
  std::istringstream lines(reader.stream());
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

TEST_F(CaptureServerTestTimed, OneAtATimeUntilSomebodyAsksForItsEnd) {
  begin(false);
  Reader first;
  first.ask(*captures, R"({"command":"capture"})");
  EXPECT_THAT(first.reply(), HasSubstr("true"));
  Reader second;
  second.ask(*captures, R"({"command":"trace","count":1})");
  EXPECT_THAT(second.receive_all(),
              HasSubstr("another capture or trace runs, the capture of " + kMe));
  Reader third;
  third.ask(*captures, kEnd);
  EXPECT_EQ(third.receive_all(), R"({"ok":true,"data":{"ended":"capture of )" + kMe + "\"}}\n");
  expect_ended(first, "`tributary capture --end` of " + kMe);
  EXPECT_THAT(reported, ElementsAre(HasSubstr("ended the capture of " + kMe + ": `tributary")));
  Reader fourth;
  fourth.ask(*captures, kEnd);
  EXPECT_THAT(fourth.receive_all(), HasSubstr("no capture or trace runs"));
}

// A capture and a trace that have more to send than their readers take.
TEST_F(CaptureServerTestTimed, TheEndOfOneThatNobodyReadsIsWholeToo) {
  begin(true);
  for (const std::string line :
       {R"({"command":"capture"})", R"({"command":"trace","count":4000000000})"}) {
    Reader silent;
    silent.ask(*captures, line);
    EXPECT_THAT(silent.reply(), HasSubstr("true"));
    Reader other;
    other.ask(*captures, kEnd);
    EXPECT_THAT(other.receive_all(), HasSubstr("\"ended\""));
    if (line.find("trace") == std::string::npos) {
      expect_ended(silent, "`tributary capture --end` of " + kMe);
    } else {
      silent.receive_all();
      EXPECT_THAT(silent.got, EndsWith("\nended: `tributary capture --end` of " + kMe + "\n"));
    }
  }
}

TEST_F(CaptureServerTestTimed, OneThatIsNotReadMakesWay) {
  begin(true, std::chrono::nanoseconds(1));
  Reader silent;
  silent.ask(*captures, R"({"command":"capture"})");
  Reader bad;  // it does not get that far
  bad.ask(*captures, R"({"command":"capture","filter":"host nosuch.example"})");
  EXPECT_THAT(bad.receive_all(), HasSubstr("'nosuch.example'"));
  std::optional<Reader> next;
  do {  // until all room is taken
    next.emplace();
    next->ask(*captures, R"({"command":"capture","count":1})");
  } while (next->reply().find("true") == std::string::npos);
  expect_ended(silent, "its reader had stopped reading, and " + kMe + " wanted to capture");
  next->receive_all();
  EXPECT_THAT(next->stream(), testing::Not(HasSubstr("ended: ")));
  EXPECT_EQ(reported.size(), 1u);
}

TEST_F(CaptureServerTestTimed, OneThatIsNotReadStaysAWhile) {
  begin(true, std::chrono::hours(1));
  Reader silent;
  silent.ask(*captures, R"({"command":"capture"})");
  Reader next;
  next.ask(*captures, R"({"command":"capture","count":1})");
  EXPECT_THAT(next.receive_all(), HasSubstr("`tributary capture --end` ends that one"));
  captures.reset();
  expect_ended(silent, "the switch stops");
  EXPECT_THAT(reported, testing::IsEmpty());
}

}  // namespace
}  // namespace tributary::control
