// Datagrams that go out together and come in together, over loopback. Kernels that cannot cut or
// merge must give the same.
#include "worker/transport/udp_segments.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "worker/transport/file_descriptor.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMtu = 65000;

class UdpSegmentsTestTimed : public ::testing::Test {
 protected:
  UdpSegmentsTestTimed() {
    // Two ports that follow each other.
    do {
      first_ = bound(0);
      second_ = bound(static_cast<std::uint16_t>(port_of(first_) + 1));
    } while (!second_);
    to_.sin_family = AF_INET;
    to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to_.sin_port = htons(port_of(first_));
    sender_.probe(out_.get());
  }

  static FileDescriptor bound(std::uint16_t port) {
    FileDescriptor fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    const timeval limit{10, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return {};
    return fd;
  }
  static std::uint16_t port_of(const FileDescriptor& fd) {
    sockaddr_in at{};
    socklen_t length = sizeof at;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &length);
    return ntohs(at.sin_port);
  }

  // A datagram of a head and a payload, each of which starts with `mark`.
  void add(std::size_t head, std::size_t payload, std::uint8_t port) {
    const auto mark = static_cast<std::byte>(heads_.size() + 1);
    heads_.emplace_back(head, std::byte{0}).front() = mark;
    payloads_.emplace_back(payload, std::byte{0});
    if (payload > 0) payloads_.back().back() = mark;
    ports_.push_back(port);
  }
  UdpSender::Sent send(std::size_t most_segment_bytes = kMtu) {
    std::vector<Datagram> batch;
    for (std::size_t i = 0; i < heads_.size(); ++i)
      batch.push_back({heads_[i], payloads_[i], ports_[i]});
    return sender_.send(out_.get(), batch, to_, most_segment_bytes, drops_);
  }
  // First byte and size of the next datagram.
  static std::pair<int, ssize_t> receive(const FileDescriptor& from) {
    Bytes room(0x10000);
    const ssize_t got = ::recv(from.get(), room.data(), room.size(), 0);
    return {static_cast<int>(room[0]), got};
  }

  FileDescriptor out_{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  FileDescriptor first_, second_;
  sockaddr_in to_{};
  UdpSender sender_;
  DropCounters drops_;
  std::vector<Bytes> heads_, payloads_;
  std::vector<std::uint8_t> ports_;
};

TEST_F(UdpSegmentsTestTimed, EachArrivesByItselfInOrder) {
  add(54, 1000, 0);
  add(54, 1000, 0);
  add(54, 300, 0);   // shorter: the last of its message
  add(54, 1000, 0);  // longer than the last: another message
  add(74, 1000, 0);
  add(54, 0, 1);
  add(54, 0, 1);
  add(54, 1000, 0);
  const auto sent = send();
  EXPECT_EQ(sent.datagrams, 8u);
  EXPECT_FALSE(sent.blocked);
  for (const auto& [mark, bytes] :
       {std::pair{1, 1054}, {2, 1054}, {3, 354}, {4, 1054}, {5, 1074}, {8, 1054}})
    EXPECT_EQ(receive(first_), std::pair(mark, ssize_t{bytes}));
  EXPECT_EQ(receive(second_), std::pair(6, ssize_t{54}));
  EXPECT_EQ(receive(second_), std::pair(7, ssize_t{54}));
  EXPECT_EQ(drops_.total(), 0u);
}

TEST_F(UdpSegmentsTestTimed, ABatchIsLongerThanAMessage) {
  for (int i = 0; i < 64; ++i) add(54, 8192, 0);
  const int room = 4 << 20;
  ::setsockopt(first_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  ::setsockopt(out_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  const auto sent = send();
  for (std::size_t i = 0; i < std::min<std::size_t>(sent.datagrams, 16); ++i)
    EXPECT_EQ(receive(first_), std::pair(static_cast<int>(i + 1), ssize_t{8246}));
  EXPECT_TRUE(sent.blocked || sent.datagrams == 64);
}

// What a kernel without checksum offload says on some versions; the socket goes on without.
TEST_F(UdpSegmentsTestTimed, ARefusalIsFinalAndLosesNothing) {
  const int off = 1;
  ASSERT_EQ(::setsockopt(out_.get(), SOL_SOCKET, SO_NO_CHECK, &off, sizeof off), 0);
  for (int i = 0; i < 5; ++i) add(54, 500, 0);
  EXPECT_EQ(send().datagrams, 5u);
  EXPECT_FALSE(sender_.segments());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(receive(first_), std::pair(i + 1, ssize_t{554}));
  EXPECT_EQ(drops_.total(), 0u);
}

TEST_F(UdpSegmentsTestTimed, WhatIsCutIntoFragmentsGoesAlone) {
  for (int i = 0; i < 3; ++i) add(54, 4000, 0);
  EXPECT_EQ(send(1472).datagrams, 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(receive(first_), std::pair(i + 1, ssize_t{4054}));
}

// The size of each is known where several came as one: the kernel of this test merges on loopback
// what was sent as one message, and an older one gives five messages.
TEST_F(UdpSegmentsTestTimed, MergedOnesSayTheirSize) {
  merge_received(first_.get());
  for (int i = 0; i < 5; ++i) add(54, i < 4 ? 500 : 20, 0);
  ASSERT_EQ(send().datagrams, 5u);
  std::vector<std::size_t> sizes;
  while (sizes.size() < 5) {
    Bytes room(0x10000);
    alignas(cmsghdr) std::array<std::byte, 64> control{};
    iovec vector{room.data(), room.size()};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(first_.get(), &message, 0);
    ASSERT_GT(got, 0);
    auto left = static_cast<std::size_t>(got);
    for (const std::size_t each = merged_bytes(message); each != 0 && left > each; left -= each)
      sizes.push_back(each);
    sizes.push_back(left);
  }
  EXPECT_THAT(sizes, ElementsAre(554, 554, 554, 554, 74));
}

}  // namespace
}  // namespace tributary::worker
