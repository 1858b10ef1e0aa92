#include "dataplane/memif/memif_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <vector>

namespace tributary::dataplane {
namespace {

using worker::FileDescriptor;
using worker::memif::Message;

constexpr std::size_t kMostDescriptors = 8;  // that are taken, and closed, at once

[[noreturn]] void fail(int error) {
  throw std::system_error(error, std::generic_category());
}

std::vector<FileDescriptor> descriptors_of(msghdr& header) {
  std::vector<FileDescriptor> all;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(c) + i * sizeof descriptor, sizeof descriptor);
      all.emplace_back(descriptor);
    }
  }
  return all;
}

}  // namespace

FileDescriptor bind_memif_socket(const std::string& path, bool abstract) {
  sockaddr_un address{};
  const std::size_t length = offsetof(sockaddr_un, sun_path) + 1 + path.size();
  if (path.empty() || length > sizeof address) fail(ENAMETOOLONG);
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path + (abstract ? 1 : 0), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) fail(errno);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
             static_cast<socklen_t>(length)) != 0)
    fail(errno);
  return socket;
}

MemifReceived receive_memif(int socket, Message& message, FileDescriptor& passed) {
  // One byte more, so that a longer packet is seen.
  std::array<std::byte, sizeof(Message) + 1> bytes;
  iovec body{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &body;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t received = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return MemifReceived::nothing;
  if (received <= 0) return MemifReceived::ended;
  std::vector<FileDescriptor> descriptors = descriptors_of(header);
  if (received != static_cast<ssize_t>(sizeof message) || descriptors.size() > 1 ||
      (header.msg_flags & MSG_CTRUNC) != 0)
    return MemifReceived::nonsense;
  std::memcpy(&message, bytes.data(), sizeof message);
  if (!descriptors.empty()) passed = std::move(descriptors.front());
  return MemifReceived::message;
}

bool send_memif(int socket, const Message& message, int passed) {
  iovec body{const_cast<Message*>(&message), sizeof message};  // sendmsg only reads
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
  return ::sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof message);
}

}  // namespace tributary::dataplane
