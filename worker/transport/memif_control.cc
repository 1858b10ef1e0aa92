#include "worker/transport/memif_control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace tributary::worker {
namespace {

using memif::Message;
using memif::MessageType;

// After DPDK's texts for "no port of the switch has this id" and "that port has a client", the
// switch's for all ports, and for all of one user's, another try may succeed soon.
bool may_pass_soon(std::string_view refusal) {
  return refusal == "ID not found" || refusal == "Already connected" ||
         refusal == "No port is free" || refusal.find("; per-user=") != std::string_view::npos;
}

template <std::size_t N>
void put_text(std::array<char, N>& to, std::string_view text) {
  std::copy_n(text.data(), std::min(text.size(), N - 1), to.data());
}

// A text from a peer, made safe to print: up to the first NUL, printable ASCII only.
template <std::size_t N>
std::string get_text(const std::array<char, N>& from) {
  std::string text(from.data(), ::strnlen(from.data(), N));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Message message(MessageType type) {
  Message m{};
  m.type = type;
  return m;
}

// As recv(), without waiting. `passed`: the descriptor that came along, if one did.
ssize_t receive(int socket, Message& m, FileDescriptor& passed) {
  iovec body{&m, sizeof m};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  // Padded, so that two may come.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t n = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const c = n < 0 ? nullptr : CMSG_FIRSTHDR(&header);
  if (c == nullptr || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) return n;
  const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(c) + i * sizeof descriptor, sizeof descriptor);
    passed = FileDescriptor(descriptor);
  }
  if (count != 1) passed = FileDescriptor();
  return n;
}

// If a switch creates the socket later, any error but a forbidden access may go away.
MemifConnectError::Prospect prospect_after(int error) {
  const bool final = error == EACCES || error == EPERM || error == ENAMETOOLONG;
  return final ? MemifConnectError::Prospect::none : MemifConnectError::Prospect::open;
}

// Returns 0, or the errno of connect().
int connect_to(int socket, const std::string& path, bool abstract) {
  sockaddr_un to{};
  const std::size_t length = offsetof(sockaddr_un, sun_path) + 1 + path.size();
  if (length > sizeof to) return ENAMETOOLONG;
  to.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), to.sun_path + (abstract ? 1 : 0));
  const auto* const address = reinterpret_cast<const sockaddr*>(&to);
  return ::connect(socket, address, static_cast<socklen_t>(length)) == 0 ? 0 : errno;
}

}  // namespace

MemifControl::MemifControl(const std::string& path, std::uint32_t id, MemifRings& rings,
                           Duration answer_limit, std::string_view name)
    : path_(path),
      answer_limit_(answer_limit),
      socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  if (!socket_) fail(std::strerror(errno));
  limit_waiting();
  int error = connect_to(socket_.get(), path, false);
  if (error == ENOENT) {
    const int as_name = connect_to(socket_.get(), path, true);
    if (as_name == 0 || as_name == EAGAIN) error = as_name;
  }
  if (error == EAGAIN) fail("the switch does not answer");
  if (error != 0)
    fail(std::string("no switch listens there: ") + std::strerror(error), prospect_after(error));
  handshake(id, rings, name);
}

// connect() also waits if others wait to be accepted.
void MemifControl::limit_waiting() const {
  const std::int64_t us = std::max<std::int64_t>(answer_limit_.to_ns() / 1000, 1);
  const timeval limit{us / 1'000'000, us % 1'000'000};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

MemifControl::~MemifControl() {
  Message bye = message(MessageType::disconnect);
  put_text(bye.disconnect.text, "worker leaves");
  ::send(socket_.get(), &bye, sizeof bye, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void MemifControl::handshake(std::uint32_t id, MemifRings& rings, std::string_view name) {
  const Message hello = expect(MessageType::hello);
  const memif::Hello& limits = hello.hello;
  if (limits.min_version > memif::kVersion || limits.max_version < memif::kVersion)
    fail("the switch does not speak memif 2.0");
  if (limits.max_log2_ring_size < MemifRings::kLog2Size)
    fail("the switch allows rings of 2^" + std::to_string(limits.max_log2_ring_size) +
         " frames only, 2^" + std::to_string(MemifRings::kLog2Size) + " are needed");

  Message init = message(MessageType::init);
  init.init.version = memif::kVersion;
  init.init.id = id;
  put_text(init.init.name, name);
  told_ = request(init, -1, MessageType::ack).told;

  Message region = message(MessageType::add_region);
  region.add_region.size_bytes = rings.memory_bytes();
  request(region, rings.memory_fd(), MessageType::ack);

  for (const bool to_server : {true, false}) {
    Message ring = message(MessageType::add_ring);
    ring.add_ring.flags = to_server ? memif::kAddRingClientToServer : 0;
    ring.add_ring.offset = MemifRings::ring_offset(to_server);
    ring.add_ring.log2_size = MemifRings::kLog2Size;
    request(ring, rings.event_fd(to_server), MessageType::ack);
  }

  Message connect = message(MessageType::connect);
  put_text(connect.connect.interface_name, memif::kOwnName);
  request(connect, -1, MessageType::connected);
  rings.start();
}

Message MemifControl::request(const Message& m, int passed_fd, MessageType answer) {
  send(m, passed_fd);
  return expect(answer);
}

void MemifControl::send(const Message& m, int passed_fd) const {
  iovec body{const_cast<Message*>(&m), sizeof m};  // sendmsg only reads
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed_fd)> control{};
  if (passed_fd >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof passed_fd);
    std::memcpy(CMSG_DATA(c), &passed_fd, sizeof passed_fd);
  }
  if (::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof m))
    fail(std::string("connection lost: ") + std::strerror(errno));
}

Message MemifControl::expect(MessageType wanted) const {
  pollfd readable{socket_.get(), POLLIN, 0};
  const int ready = ::poll(&readable, 1, static_cast<int>(answer_limit_.to_ns() / 1'000'000));
  if (ready == 0) fail("the switch does not answer");
  Message m{};
  const ssize_t n = ::recv(socket_.get(), &m, sizeof m, MSG_DONTWAIT);
  if (n != static_cast<ssize_t>(sizeof m)) fail("the switch closed the connection");
  if (m.type == MessageType::disconnect) {
    const std::string text = get_text(m.disconnect.text);
    fail("the switch refused: \"" + text + "\"",
         may_pass_soon(text) ? Prospect::soon : Prospect::open);
  }
  if (m.type != wanted)
    fail("unexpected message " + std::to_string(static_cast<unsigned>(m.type)) +
         " from the switch");
  return m;
}

void MemifControl::fail(const std::string& why, Prospect prospect) const {
  throw MemifConnectError("memif socket " + path_ + ": " + why, prospect);
}

bool MemifControl::server_left() {
  Message m{};
  FileDescriptor passed;
  const ssize_t n = receive(socket_.get(), m, passed);
  if (n < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
  if (n != static_cast<ssize_t>(sizeof m) || m.type == MessageType::disconnect) return true;
  if (m.type == MessageType::share && passed) offers_.push_back({m.share, std::move(passed)});
  return false;
}

// One that is lost costs nothing but copies.
void MemifControl::accept(const memif::Share& share) const {
  Message taken = message(MessageType::ack);
  taken.share = share;
  ::send(socket_.get(), &taken, sizeof taken, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace tributary::worker
