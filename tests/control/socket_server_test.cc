#include "control/socket_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/control/socket_client.h"

namespace tributary::control {
namespace {

class SocketServerTest : public testing::Test {
 public:
  ~SocketServerTest() override { std::filesystem::remove_all(directory_); }

 protected:
  SocketServerTest() {
    std::string pattern = testing::TempDir() + "tributary-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path = directory_ + "/control.sock";
  }

  static std::string echo(std::string_view line) { return "<" + std::string(line) + ">"; }
  std::string ask(std::string_view bytes) {
    SocketClient client(path);
    client.send(bytes);
    client.finish();
    return client.receive_all();
  }
  std::string path;

 private:
  std::string directory_;
};

TEST_F(SocketServerTest, AnswersOneLineAConnection) {
  const SocketServer server(path, echo);
  EXPECT_EQ(ask("hello\n"), "<hello>\n");
  EXPECT_EQ(ask("again\nand more\n"), "<again>\n");
  EXPECT_EQ(ask("no newline"), "<no newline>\n");
  EXPECT_EQ(ask(""), "");
}

TEST_F(SocketServerTest, LineMayComeInPieces) {
  const SocketServer server(path, echo);
  SocketClient client(path);
  client.send("one ");
  client.send("line");
  client.send("\n");
  EXPECT_EQ(client.receive_all(), "<one line>\n");
}

TEST_F(SocketServerTest, RequestSizeIsBounded) {
  const SocketServer server(path, echo);
  EXPECT_THAT(ask(std::string(SocketServer::kMostRequestBytes + 1, 'x')),
              testing::HasSubstr("longer than 4096 bytes"));
  EXPECT_EQ(ask(std::string(4000, 'x') + "\n").size(), 4003u);
}

TEST_F(SocketServerTest, LargeRepliesArriveWhole) {
  const SocketServer server(path, [](std::string_view) { return std::string(5'000'000, 'y'); });
  EXPECT_EQ(ask("\n").size(), 5'000'001u);
}

TEST_F(SocketServerTest, FileIsForOwnerAndGroupAndGoesAtTheEnd) {
  {
    const SocketServer server(path, echo);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0660u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SocketServerTest, StaleFileIsReplacedALiveOneIsNot) {
  {
    // What a killed process leaves: bound, nobody listening.
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

TEST_F(SocketServerTest, NeverRemovesAnotherKindOfFile) {
  std::ofstream(path) << "data";
  EXPECT_THROW(SocketServer(path, echo), std::runtime_error);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(SocketServerTest, ErrorsNameThePath) {
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
