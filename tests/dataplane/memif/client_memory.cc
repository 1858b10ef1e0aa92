#include "tests/dataplane/memif/client_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cstring>

namespace tributary::dataplane {

namespace memif = worker::memif;

ClientMemory::ClientMemory(std::size_t bytes, int seals)
    : bytes_(bytes),
      memory_fd_(::memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING)),
      event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  EXPECT_EQ(::ftruncate(memory_fd_.get(), static_cast<off_t>(bytes)), 0);
  if (seals != 0) {
    EXPECT_EQ(::fcntl(memory_fd_.get(), F_ADD_SEALS, seals), 0);
  }
  memory_ = static_cast<std::byte*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd_.get(), 0));
  if (bytes < kBuffers) return;
  for (const bool to_server : {true, false}) ring(to_server).cookie = memif::kRingCookie;
}

ClientMemory::~ClientMemory() {
  ::munmap(memory_, bytes_);
}

memif::RingHeader& ClientMemory::ring(bool to_server) const {
  return *reinterpret_cast<memif::RingHeader*>(memory_ + ring_offset(to_server));
}

memif::Descriptor& ClientMemory::descriptor(bool to_server, std::uint16_t index) const {
  return reinterpret_cast<memif::Descriptor*>(&ring(to_server) + 1)[index % kSize];
}

void ClientMemory::show(bool to_server, const memif::Descriptor& shown) const {
  const std::atomic_ref head(ring(to_server).head);
  descriptor(to_server, head.load()) = shown;
  head.fetch_add(1);
}

void ClientMemory::send(std::size_t bytes, std::byte value, std::uint32_t offset) const {
  std::memset(at(offset), std::to_integer<int>(value), bytes);
  show(true, {0, 0, static_cast<std::uint32_t>(bytes), offset, 0});
}

void ClientMemory::offer_buffer(std::uint32_t bytes, std::uint32_t offset) const {
  show(false, {0, 0, bytes, offset, 0});
}

MemifOffer ClientMemory::offer() const {
  const auto ring_at = [&](bool to_server) {
    return MemifOffer::Ring{.region = 0,
                            .offset = ring_offset(to_server),
                            .log2_size = kLog2Size,
                            .event = worker::FileDescriptor(::dup(event_.get()))};
  };
  MemifOffer offer;
  offer.regions.push_back({worker::FileDescriptor(::dup(memory_fd_.get())), bytes_});
  offer.to_server.push_back(ring_at(true));
  offer.to_client.push_back(ring_at(false));
  return offer;
}

RawClient::RawClient(const std::string& name)
    : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());
  EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())),
            0);
}

void RawClient::say(const memif::Message& message, int passed) const {
  iovec body{const_cast<memif::Message*>(&message), sizeof message};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof passed)> control{};
  if (passed >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(c), &passed, sizeof passed);
  }
  ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
}

void RawClient::say_bytes(std::size_t bytes) const {
  const std::string text(bytes, 'x');
  ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

std::optional<memif::Message> RawClient::hear() const {
  memif::Message message;
  if (::recv(socket_.get(), &message, sizeof message, 0) != static_cast<ssize_t>(sizeof message))
    return std::nullopt;
  return message;
}

std::string RawClient::hear_refusal() const {
  std::string words;
  while (const auto message = hear())
    if (message->type == memif::MessageType::disconnect) words = message->disconnect.text.data();
  return words;
}

void RawClient::step(int number, const ClientMemory& memory, std::uint32_t id) const {
  switch (number) {
    case 0: return say(init_message(id));
    case 1: return say(region_message(0, memory.bytes()), memory.fd());
    case 2: return say(ring_message(true), memory.event());
    case 3: return say(ring_message(false), memory.event());
    default: return say(connect_message());
  }
}

std::optional<memif::Message> RawClient::connect(const ClientMemory& memory,
                                                 std::uint32_t id) const {
  auto answer = hear();  // HELLO
  for (int i = 0; i < kSteps && answer; ++i) {
    step(i, memory, id);
    answer = hear();
  }
  return answer;
}

memif::Message init_message(std::uint32_t id) {
  memif::Message m{};
  m.type = memif::MessageType::init;
  m.init.version = memif::kVersion;
  m.init.id = id;
  return m;
}

memif::Message region_message(std::uint16_t index, std::uint64_t bytes) {
  memif::Message m{};
  m.type = memif::MessageType::add_region;
  m.add_region.index = index;
  m.add_region.size_bytes = bytes;
  return m;
}

memif::Message ring_message(bool to_server, std::uint16_t index) {
  memif::Message m{};
  m.type = memif::MessageType::add_ring;
  m.add_ring.flags = to_server ? memif::kAddRingClientToServer : std::uint16_t{0};
  m.add_ring.index = index;
  m.add_ring.offset = ClientMemory::ring_offset(to_server);
  m.add_ring.log2_size = ClientMemory::kLog2Size;
  return m;
}

memif::Message connect_message() {
  memif::Message m{};
  m.type = memif::MessageType::connect;
  return m;
}

}  // namespace tributary::dataplane
