#include "pool/link/stream.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/utf8.h"

namespace tributary::pool {
namespace {

using Clock = std::chrono::steady_clock;

std::string error_text() {
  return std::generic_category().message(errno);
}

int left_ms(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(left);
}
Clock::time_point end_of(Duration timeout) {
  return Clock::now() + std::chrono::nanoseconds(timeout.to_ns());
}

// Returns false if the time is over.
bool wait(int fd, short events, Clock::time_point end) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int got = poll(&entry, 1, left_ms(end));
    if (got > 0) return true;
    if (got == 0) return false;
    if (errno != EINTR) throw StreamError("connection: " + error_text());
  }
}

struct AddressFree {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
std::unique_ptr<addrinfo, AddressFree> resolve(const std::string& address, int flags) {
  const auto [host, port] = split_address(address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw StreamError(address + ": " + gai_strerror(error));
  return std::unique_ptr<addrinfo, AddressFree>(found);
}

}  // namespace

std::pair<std::string, std::string> split_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    throw std::invalid_argument("'" + address + "' is no HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

int listen_at(const std::string& address) {
  const auto info = resolve(address, AI_PASSIVE);
  const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw StreamError(address + ": " + error_text());
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
    const std::string text = error_text();
    close(fd);
    throw StreamError(address + ": cannot listen: " + text);
  }
  return fd;
}

MessageStream MessageStream::begin(const std::string& address) {
  const auto info = resolve(address, 0);
  MessageStream stream(socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (stream.fd_ < 0) throw StreamError(address + ": " + error_text());
  if (::connect(stream.fd_, info->ai_addr, info->ai_addrlen) != 0 && errno != EINPROGRESS)
    throw StreamError(address + ": " + error_text());
  const int one = 1;
  setsockopt(stream.fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return stream;
}

bool MessageStream::wait_connected(Duration timeout) const {
  if (!wait(fd_, POLLOUT, end_of(timeout))) return false;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  if (error != 0) throw StreamError(error_text());
  return true;
}

MessageStream MessageStream::connect(const std::string& address, Duration timeout) {
  MessageStream stream = begin(address);
  try {
    if (!stream.wait_connected(timeout)) throw StreamError("does not answer");
  } catch (const StreamError& error) {
    throw StreamError(address + ": " + error.what());
  }
  return stream;
}

std::optional<MessageStream> MessageStream::connect_unix(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.data(), path.size());
  MessageStream stream(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (stream.fd_ < 0 ||
      ::connect(stream.fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  return stream;
}

MessageStream::MessageStream(MessageStream&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), received_(std::move(other.received_)) {}

MessageStream::~MessageStream() {
  if (fd_ >= 0) close(fd_);
}

void MessageStream::send(const Message& message, Duration timeout) {
  const auto frame = encode(message);
  const auto end = end_of(timeout);
  std::size_t done = 0;
  while (done < frame.size()) {
    const ssize_t n =
        ::send(fd_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      done += static_cast<std::size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) throw StreamError("connection: " + error_text());
    if (!wait(fd_, POLLOUT, end)) throw StreamError("connection: takes nothing");
  }
}

std::optional<Message> MessageStream::receive(Duration timeout) {
  const auto end = end_of(timeout);
  for (;;) {
    const auto whole = frame_bytes(received_);
    if (!whole) throw StreamError("connection: what came is no message");
    if (*whole != 0 && received_.size() >= *whole) {
      auto message = decode(std::span(received_).first(*whole));
      if (!message) throw StreamError("connection: what came is no message");
      received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(*whole));
      return message;
    }
    const std::size_t before = received_.size();
    received_.resize(before + (64 << 10));
    const ssize_t n = recv(fd_, received_.data() + before, received_.size() - before, MSG_DONTWAIT);
    const int error = errno;
    received_.resize(before + static_cast<std::size_t>(n > 0 ? n : 0));
    errno = error;
    if (n == 0) throw StreamError("connection: closed by the other side");
    if (n > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) throw StreamError("connection: " + error_text());
    if (!wait(fd_, POLLIN, end)) return std::nullopt;
  }
}

Message MessageStream::ask(const Message& message, Duration timeout) {
  send(message, timeout);
  auto answer = receive(timeout);
  if (!answer) throw StreamError("no answer in time");
  if (const auto* failure = std::get_if<Failure>(&*answer))
    throw StreamError(replace_invalid_utf8(failure->text));
  return std::move(*answer);
}

bool MessageStream::closed() const {
  std::byte next;
  const ssize_t n = recv(fd_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace tributary::pool
