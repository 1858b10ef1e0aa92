#include "control/capture/capture_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <utility>

namespace tributary::control {
namespace {

constexpr auto kRoom = CaptureStream::Clock::duration::zero();

class CaptureStreamTestTimed : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0); }
  void TearDown() override {
    close_writer();
    close(ends_[0]);
  }
  void close_writer() { close(std::exchange(ends_[1], -1)); }
  std::size_t receive(std::string& text) const {
    std::array<char, 1 << 16> piece;
    const ssize_t n = recv(ends_[0], piece.data(), piece.size(), 0);
    text.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return text.size();
  }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }

 private:
  std::array<int, 2> ends_{};
};

TEST_F(CaptureStreamTestTimed, WaitsForAReaderThatPauses) {
  CaptureStream stream(writer());
  EXPECT_EQ(stream.unread_for(), kRoom);
  const std::string all(4 << 20, 'x');
  std::string text = all;
  bool sent = false;
  std::thread thread([&] { sent = stream.send(text); });
  while (stream.unread_for() == kRoom) std::this_thread::yield();
  std::string got;
  while (receive(got) < all.size()) {
  }
  thread.join();
  EXPECT_TRUE(sent);
  EXPECT_EQ(text, "");
  EXPECT_EQ(got, all);
  EXPECT_EQ(stream.unread_for(), kRoom);
}

TEST_F(CaptureStreamTestTimed, OneThatIsStoppedWaitsForNobodyAndEndsWell) {
  CaptureStream stream(writer());
  const std::string all(4 << 20, 'x');
  std::string text = all;
  bool sent = true;
  std::thread thread([&] { sent = stream.send(text); });
  while (stream.unread_for() == kRoom) std::this_thread::yield();
  EXPECT_FALSE(stream.stopped());
  stream.stop();
  thread.join();
  EXPECT_FALSE(sent);
  EXPECT_FALSE(stream.wanted(0));
  const std::size_t before = all.size() - text.size();
  EXPECT_GT(text.size(), CaptureStream::kMostLeft);
  std::string last(CaptureStream::kMostLeft, 'y');
  EXPECT_FALSE(stream.send(last));
  EXPECT_TRUE(stream.send_last(last));
  close_writer();
  std::string got;
  for (std::size_t old = 1; old != got.size();) {
    old = got.size();
    receive(got);
  }
  EXPECT_EQ(got, std::string(before, 'x') + std::string(CaptureStream::kMostLeft, 'y'));
}

TEST_F(CaptureStreamTestTimed, SeesThatTheReaderWantsNoMoreOrHasGone) {
  CaptureStream stream(writer());
  EXPECT_TRUE(stream.wanted(0));
  shutdown(reader(), SHUT_WR);
  EXPECT_FALSE(stream.wanted(0));
  std::string text = "rest";
  EXPECT_TRUE(stream.send(text));
  shutdown(reader(), SHUT_RD);
  text = "lost";
  EXPECT_FALSE(stream.send(text));
  EXPECT_FALSE(stream.send_last(text));
}

TEST_F(CaptureStreamTestTimed, ThePeerIsAProcess) {
  EXPECT_EQ(peer_of(writer()), "process " + std::to_string(getpid()));
  EXPECT_EQ(peer_of(-1), "a process in another PID namespace");
}

}  // namespace
}  // namespace tributary::control
