// The control protocol's client against a real unix socket with a scripted peer.
#include "tools/client/control/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/testbed/scratch.h"
#include "tools/client/control/stoppable_question.h"

namespace tributary::client {
namespace {

using testing::HasSubstr;

// Listens on a socket of its own; answers one connection with what the script returns.
class FakeSwitch {
 public:
  using Script = std::function<std::string(const std::string& request)>;

  FakeSwitch() {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().data(), path().size());
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~FakeSwitch() {
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  FakeSwitch(const FakeSwitch&) = delete;
  FakeSwitch& operator=(const FakeSwitch&) = delete;

  void serve(Script script) {
    ASSERT_EQ(::listen(listener_, 1), 0);
    thread_ = std::thread([this, script = std::move(script)] {
      const int peer = ::accept(listener_, nullptr, nullptr);
      std::string request;
      char c = 0;
      while (::recv(peer, &c, 1, 0) == 1 && c != '\n') request += c;
      request_ = request;
      const std::string reply = script(request);
      for (std::size_t sent = 0; sent < reply.size();) {
        const ssize_t n = ::send(peer, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      ::close(peer);
    });
  }
  [[nodiscard]] std::string path() const { return directory_.file("s"); }
  [[nodiscard]] std::string request() {
    thread_.join();
    return request_;
  }

 private:
  testbed::Scratch directory_;
  int listener_ = -1;
  std::thread thread_;
  std::string request_;
};

const Json kShowPorts = {{"command", "show"}, {"what", "ports"}};

std::string failure(const std::string& path, Duration timeout = Duration::seconds(30),
                    int stop = -1) {
  try {
    (void)ask_switch_until(stop, path, kShowPorts, timeout);
  } catch (const ControlError& error) {
    return error.what();
  }
  return "no error";
}

std::string failure_after(const std::string& reply) {
  FakeSwitch peer;
  peer.serve([&](const std::string&) { return reply; });
  return failure(peer.path());
}

TEST(ControlClientTimed, SendsOneLineAndReturnsTheData) {
  FakeSwitch peer;
  peer.serve([](const std::string&) {
    return R"({"ok":true,"data":[{"port":"w0"}]})"
           "\n";
  });
  EXPECT_EQ(ask_switch(peer.path(), kShowPorts).dump(), R"([{"port":"w0"}])");
  EXPECT_EQ(peer.request(), R"({"command":"show","what":"ports"})");
}

TEST(ControlClientTimed, ReturnsWhatIsSaidBesideTheData) {
  const auto notes_in = [](const std::string& notes) {
    FakeSwitch peer;
    peer.serve([&](const std::string&) { return R"({"ok":true,"data":[])" + notes + "}\n"; });
    return ask_with_notes(peer.path(), kShowPorts).notes;
  };
  EXPECT_EQ(notes_in(""), std::vector<std::string>());
  EXPECT_EQ(notes_in(R"(,"notes":["not all","but some"])"),
            (std::vector<std::string>{"not all", "but some"}));
  EXPECT_EQ(notes_in(R"(,"notes":"none")"), std::vector<std::string>());
  EXPECT_EQ(notes_in(R"(,"notes":[1,"one"])"), std::vector<std::string>{"one"});
}

TEST(ControlClientTimed, ReadsRepliesOfManyBlocks) {
  FakeSwitch peer;
  const std::string big(300'000, 'x');
  peer.serve([&](const std::string&) { return R"({"ok":true,"data":")" + big + "\"}\n"; });
  EXPECT_EQ(ask_switch(peer.path(), kShowPorts).get<std::string>(), big);
}

TEST(ControlClientTimed, AProgramThatEndsDoesNotWaitForAnAnswer) {
  FakeSwitch peer;
  peer.serve([](const std::string&) { return std::string(); });
  std::array<int, 2> stop{};
  ASSERT_EQ(::pipe(stop.data()), 0);
  ASSERT_EQ(::write(stop[1], "x", 1), 1);
  EXPECT_THAT(failure(peer.path(), Duration::seconds(30), stop[0]),
              HasSubstr("did not answer before this program ends"));
  for (const int end : stop) ::close(end);
}

TEST(ControlClientTimed, PassesOnTheSwitchesRefusal) {
  EXPECT_EQ(failure_after("{\"ok\":false,\"error\":\"unknown command\"}\n"),
            "tributary-switchd refused: unknown command");
  EXPECT_EQ(failure_after("{\"ok\":false}\n"), "tributary-switchd refused: no reason given");
}

TEST(ControlClientTimed, DistrustsWhatAnswers) {
  EXPECT_THAT(failure_after("HTTP/1.1 400 Bad Request\n"),
              HasSubstr("is not one that this client"));
  EXPECT_THAT(failure_after("[]\n"), HasSubstr("is not one that this client"));
  EXPECT_THAT(failure_after("{\"ok\":1}\n"), HasSubstr("is not one that this client"));
  EXPECT_THAT(failure_after(std::string(100'000, '[') + "\n"), HasSubstr("is not one that this"));
  EXPECT_THAT(failure_after(""), HasSubstr("closed the connection without an answer"));
  EXPECT_THAT(failure_after("{\"ok\":true"), HasSubstr("closed the connection without an answer"));
  EXPECT_THAT(failure_after(std::string(kMaxReplyBytes + 100'000, 'x')), HasSubstr("exceeds"));
}

TEST(ControlClientTimed, SaysWhatToDoWhenNobodyListens) {
  const FakeSwitch bound_only;
  EXPECT_THAT(failure(bound_only.path()), HasSubstr("tributary-switchd is not running"));
  EXPECT_THAT(failure(bound_only.path() + "-absent"), HasSubstr("name another with --socket PATH"));
  EXPECT_THAT(failure(std::string(200, 'p')), HasSubstr("200 bytes; allowed: 1 to 107"));
  EXPECT_THAT(failure(""), HasSubstr("0 bytes; allowed: 1 to 107"));
}

// A switch that accepts and says nothing: the deadline ends the wait. One that has passed already
// shows it without waiting.
TEST(ControlClientTimed, DoesNotWaitForEver) {
  FakeSwitch peer;
  peer.serve([](const std::string&) { return std::string(); });
  EXPECT_THAT(failure(peer.path(), Duration::ns(1)), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace tributary::client
