#include "control/socket/socket_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/control/socket_client.h"
#include "tests/testbed/no_descriptors.h"
#include "tests/testbed/scratch.h"

namespace tributary::control {
namespace {

class SocketServerTestTimed : public testing::Test {
 protected:
  static std::string echo(std::string_view line) { return "<" + std::string(line) + ">"; }
  [[nodiscard]] std::string ask(std::string_view bytes) const {
    SocketClient client(path);
    client.send(bytes);
    client.finish();
    return client.receive_all();
  }
  const testbed::Scratch directory;
  const std::string path = directory.file("control.sock");
};

TEST_F(SocketServerTestTimed, AnswersOneLineAConnection) {
  const SocketServer server(path, echo);
  EXPECT_EQ(ask("hello\n"), "<hello>\n");
  EXPECT_EQ(ask("again\nand more\n"), "<again>\n");
  EXPECT_EQ(ask("no newline"), "<no newline>\n");
  EXPECT_EQ(ask(""), "");
}

TEST_F(SocketServerTestTimed, LineMayComeInPieces) {
  const SocketServer server(path, echo);
  SocketClient client(path);
  client.send("one ");
  client.send("line");
  client.send("\n");
  EXPECT_EQ(client.receive_all(), "<one line>\n");
}

TEST_F(SocketServerTestTimed, RequestSizeIsBounded) {
  const SocketServer server(path, echo);
  EXPECT_THAT(ask(std::string(SocketServer::kMostRequestBytes + 1, 'x')),
              testing::HasSubstr("longer than 4096 bytes"));
  EXPECT_EQ(ask(std::string(4000, 'x') + "\n").size(), 4003u);
}

TEST_F(SocketServerTestTimed, LargeRepliesArriveWhole) {
  const SocketServer server(path, [](std::string_view) { return std::string(5'000'000, 'y'); });
  EXPECT_EQ(ask("\n").size(), 5'000'001u);
}

constexpr auto kNever = std::chrono::hours(1);
constexpr auto kAtOnce = std::chrono::milliseconds(0);
constexpr int kPatienceMs = 30'000;

// With the deadlines an hour away: a client that waits for the silent one waits for ever.
TEST_F(SocketServerTestTimed, ASilentClientKeepsNobodyWaiting) {
  const SocketServer server(path, echo, {.limits = {.request = kNever, .reply = kNever}});
  SocketClient silent(path);
  SocketClient slow(path);
  slow.send("slo");
  EXPECT_EQ(ask("hello\n"), "<hello>\n");
  slow.send("w\n");
  EXPECT_EQ(slow.receive_all(), "<slow>\n");
  silent.send("at last\n");
  EXPECT_EQ(silent.receive_all(), "<at last>\n");
}

TEST_F(SocketServerTestTimed, OneWhoDoesNotTakeItsReplyKeepsNobodyWaiting) {
  const SocketServer server(path,
                            [](std::string_view line) {
                              return line == "much" ? std::string(5'000'000, 'y')
                                                    : std::string("little");
                            },
                            {.limits = {.request = kNever, .reply = kNever}});
  SocketClient deaf(path);
  deaf.send("much\n");
  EXPECT_EQ(ask("hello\n"), "little\n");
  EXPECT_EQ(deaf.receive_all().size(), 5'000'001u);
}

TEST_F(SocketServerTestTimed, AnswersWhereNoDescriptorIsLeft) {
  const SocketServer server(path, echo);
  const int of_the_client = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const testbed::NoDescriptors none;
  close(of_the_client);
  for (int i = 0; i < 3; ++i) {
    SocketClient client(path);
    client.send("hello\n");
    ASSERT_TRUE(client.closed_within(kPatienceMs));
    EXPECT_EQ(client.receive_all(), "<hello>\n");
  }
}

TEST_F(SocketServerTestTimed, ARequestHasOneDeadlineHoweverItsBytesCome) {
  const SocketServer server(path, echo, {.limits = {.request = std::chrono::milliseconds(50)}});
  SocketClient silent(path);
  EXPECT_EQ(silent.receive_all(), "");
  SocketClient dripping(path);
  int bytes = 0;
  while (bytes < 2000 && dripping.try_send("x") && !dripping.closed_within(10)) ++bytes;
  EXPECT_LT(bytes, 2000) << "each byte has bought it more time";
}

TEST_F(SocketServerTestTimed, AReplyHasADeadlineToo) {
  const SocketServer server(path, [](std::string_view) { return std::string(5'000'000, 'y'); },
                            {.limits = {.reply = std::chrono::milliseconds(50)}});
  SocketClient deaf(path);
  deaf.send("much\n");
  ASSERT_TRUE(deaf.closed_within(kPatienceMs));
  EXPECT_LT(deaf.receive_all().size(), 5'000'001u);
}

TEST_F(SocketServerTestTimed, ANewcomerTakesThePlaceOfWhoIsSilentForLongest) {
  const SocketServer server(
      path, echo,
      {.limits = {.connections = 4, .request = kNever, .reply = kNever, .grace = kAtOnce}});
  std::deque<SocketClient> silent;
  for (int i = 0; i < 4; ++i) silent.emplace_back(path);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask("hello\n"), "<hello>\n");
    EXPECT_EQ(silent.front().receive_all(), "") << "it has gone";
    silent.pop_front();
    silent.emplace_back(path);
  }
  EXPECT_FALSE(silent.front().closed_within(0));
}

// More than there can be, and no client is sent away that has only just come.
TEST_F(SocketServerTestTimed, ManyClientsAtOnceAreAllAnswered) {
  const SocketServer server(
      path, echo,
      {.limits = {.connections = 8, .request = kNever, .reply = kNever, .grace = kNever}});
  std::vector<std::string> answers(100);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < answers.size(); ++i)
    clients.emplace_back([&, i] { answers[i] = ask(std::to_string(i) + "\n"); });
  for (std::thread& client : clients) client.join();
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i], "<" + std::to_string(i) + ">\n");
}

// A handler whose requests "long N" wait for leave, and say when they begin.
class LongRequests {
 public:
  SocketServer::Options options(std::size_t waiting) {
    return {.takes_long = [](std::string_view line) { return line.starts_with("long"); },
            .limits = {.waiting_long = waiting, .request = kNever, .reply = kNever}};
  }
  std::string handle(std::string_view line) {
    if (!line.starts_with("long")) return "quick";
    {
      const std::lock_guard lock(mutex_);
      begun.emplace_back(line);
    }
    if (line == "long 1") first.set_value();
    gate_.wait();
    return std::string(line);
  }
  std::promise<void> first;  // has begun
  std::promise<void> leave;  // for all of them
  std::vector<std::string> begun;

 private:
  std::shared_future<void> gate_{leave.get_future()};
  std::mutex mutex_;
};

TEST_F(SocketServerTestTimed, WhoAsksDoesNotWaitForWhatTakesLong) {
  LongRequests requests;
  const SocketServer server(
      path, [&](std::string_view line) { return requests.handle(line); }, requests.options(2));
  SocketClient first(path);
  first.send("long 1\n");
  requests.first.get_future().wait();
  EXPECT_EQ(ask("what is it like?\n"), "quick\n");
  SocketClient second(path);
  second.send("long 2\n");
  // A third may not even wait; as soon as the second one does, which comes first.
  EXPECT_THAT(ask("long 3\n"), testing::HasSubstr("busy: 2 requests"));
  EXPECT_EQ(ask("and now?\n"), "quick\n");
  EXPECT_EQ(requests.begun, std::vector<std::string>{"long 1"}) << "one at a time";
  requests.leave.set_value();
  EXPECT_EQ(first.receive_all(), "long 1\n");
}

TEST_F(SocketServerTestTimed, AClientThatDoesNotWaitForItsAnswerHarmsNobody) {
  LongRequests requests;
  const SocketServer server(
      path, [&](std::string_view line) { return requests.handle(line); }, requests.options(2));
  {
    SocketClient gone(path);
    gone.send("long 1\n");
    requests.first.get_future().wait();
  }
  EXPECT_EQ(ask("hello\n"), "quick\n");
  requests.leave.set_value();
  EXPECT_EQ(ask("hello\n"), "quick\n");
}

TEST_F(SocketServerTestTimed, AConnectionCanBeTakenOver) {
  std::promise<int> taken;
  const SocketServer server(path, echo, {.takeover = [&](std::string_view line, int connection) {
                              if (line != "stream") return false;
                              taken.set_value(connection);
                              return true;
                            }});
  EXPECT_EQ(ask("hello\n"), "<hello>\n");
  SocketClient client(path);
  client.send("stream\n");
  const int connection = taken.get_future().get();
  EXPECT_EQ(ask("hello\n"), "<hello>\n") << "after the other one, on the same lane";
  EXPECT_FALSE(client.closed_within(0)) << "it is not the server's any more";
  EXPECT_EQ(write(connection, "data", 4), 4);
  close(connection);
  EXPECT_EQ(client.receive_all(), "data");
}

TEST_F(SocketServerTestTimed, TheEndWaitsForTheAnswerThatIsUnderWay) {
  std::promise<void> begun;
  std::promise<void> leave;
  auto server = std::make_unique<SocketServer>(path, [&](std::string_view) {
    begun.set_value();
    leave.get_future().wait();
    return std::string("done");
  });
  SocketClient client(path);
  client.send("\n");
  begun.get_future().wait();
  std::thread end([&] { server.reset(); });
  leave.set_value();
  end.join();
  EXPECT_EQ(client.receive_all(), "done\n");
}

TEST_F(SocketServerTestTimed, FileIsForOwnerAndGroupAndGoesAtTheEnd) {
  {
    const SocketServer server(path, echo);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0660u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SocketServerTestTimed, StaleFileIsReplacedALiveOneIsNot) {
  {
    // The rest of a killed process: bound, without a listener.
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    close(fd);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  const SocketServer server(path, echo);
  EXPECT_EQ(ask("hello\n"), "<hello>\n");
  try {
    const SocketServer second(path, echo);
    FAIL() << "two servers on one path";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("another process answers"));
  }
  EXPECT_EQ(ask("still here\n"), "<still here>\n");
}

TEST_F(SocketServerTestTimed, NeverRemovesAnotherKindOfFile) {
  std::ofstream(path) << "data";
  EXPECT_THROW(SocketServer(path, echo), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(SocketServerTestTimed, ErrorsNameThePath) {
  const std::string nowhere = path + ".d/x.sock";
  try {
    const SocketServer server(nowhere, echo);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(nowhere));
  }
  EXPECT_THROW(SocketServer(std::string(200, 'x'), echo), std::runtime_error);
}

}  // namespace
}  // namespace tributary::control
