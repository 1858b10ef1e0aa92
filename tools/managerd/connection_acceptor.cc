#include "tools/managerd/connection_acceptor.h"

#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <stdexcept>

#include "tools/managerd/clock.h"

namespace tributary::managerd {
namespace {

constexpr int kMostInATurn = 64;
constexpr int kLookMs = 1000;  // between looks for connections that are late
constexpr int kRestMs = 100;   // where no descriptor is left

// An answer's time is the library's to limit.
constexpr control::HttpConnections::Limits kLimits{
    .connections = ConnectionAcceptor::kMostConnections,
    .answer = Duration::seconds(1'000'000'000)};

int descriptor_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(const std::string& listen)
    : listener_(listen), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), connections_(kLimits) {
  if (wake_ < 0) throw std::runtime_error(listen + ": no descriptor is left");
}

ConnectionAcceptor::~ConnectionAcceptor() {
  stop();
  close(wake_);
}

void ConnectionAcceptor::start(MHD_Daemon* daemon) {
  daemon_ = daemon;
  thread_ = std::thread([this] { run(); });
}

void ConnectionAcceptor::stop() {
  stopping_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
}

void ConnectionAcceptor::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void ConnectionAcceptor::started(MHD_Connection* connection) {
  const std::lock_guard lock(mutex_);
  if (connections_.is_full()) end(*connections_.replaceable());
  connections_.accepted(descriptor_of(connection), now());
}

void ConnectionAcceptor::asked(MHD_Connection* connection) {
  const std::lock_guard lock(mutex_);
  connections_.asked(descriptor_of(connection), now());
}

void ConnectionAcceptor::answered(MHD_Connection* connection) {
  const std::lock_guard lock(mutex_);
  connections_.answered(descriptor_of(connection), now());
}

void ConnectionAcceptor::closed(MHD_Connection* connection) {
  {
    const std::lock_guard lock(mutex_);
    connections_.closed(descriptor_of(connection));
  }
  if (threads_-- == kMostThreads) wake();
}

// The connection's thread sees the end, and the library closes the descriptor after closed(): as
// long as the table has it, its number is not another's.
void ConnectionAcceptor::end(int connection) {
  ::shutdown(connection, SHUT_RDWR);
  connections_.closed(connection);
}

void ConnectionAcceptor::end_late() {
  const std::lock_guard lock(mutex_);
  while (const auto late = connections_.late(now())) end(*late);
}

bool ConnectionAcceptor::wait() {
  const bool accepts = !rests_ && threads_ < kMostThreads;
  std::array<pollfd, 2> ready = {{{wake_, POLLIN, 0}, {accepts ? listener_.get() : -1, POLLIN, 0}}};
  poll(ready.data(), ready.size(), rests_ ? kRestMs : kLookMs);
  rests_ = false;
  std::uint64_t woken = 0;
  [[maybe_unused]] const ssize_t got = read(wake_, &woken, sizeof woken);  // or none
  return ready[1].revents != 0;
}

bool ConnectionAcceptor::accept_one() {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  auto* const address = reinterpret_cast<sockaddr*>(&peer);
  const int fd = accept4(listener_.get(), address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    rests_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return false;
  }
  ++threads_;
  // The library closes a connection that it does not take.
  if (MHD_add_connection(daemon_, fd, address, length) != MHD_YES) --threads_;
  return true;
}

void ConnectionAcceptor::run() {
  while (!stopping_) {
    const bool comes = wait();
    end_late();
    for (int i = 0; comes && i < kMostInATurn && threads_ < kMostThreads; ++i)
      if (!accept_one()) break;
  }
}

}  // namespace tributary::managerd
