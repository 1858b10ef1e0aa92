#include "control/capture/capture_stream.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <stdexcept>

namespace tributary::control {
namespace {

// poll() calls a unix socket writable when three quarters of its room are free again; a slow reader
// takes less at a time, and counts as one that reads.
constexpr int kLookAgainMs = 1000;

}  // namespace

CaptureStream::CaptureStream(int connection)
    : connection_(connection), stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (stop_event_ < 0) throw std::runtime_error("no file descriptor is left for a capture");
}

CaptureStream::~CaptureStream() {
  close(stop_event_);
}

bool CaptureStream::send_now(std::string& text) {
  std::size_t done = 0;
  bool there = true;
  while (there && done < text.size()) {
    const ssize_t sent =
        ::send(connection_, text.data() + done, text.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<std::size_t>(sent);
      unread_since_.store(0, std::memory_order_relaxed);
    } else if (sent == 0 || errno != EINTR) {
      there = sent < 0 && errno == EAGAIN;
      break;
    }
  }
  text.erase(0, done);
  return there;
}

void CaptureStream::wait_for_room() {
  if (unread_since_.load(std::memory_order_relaxed) == 0)
    unread_since_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  std::array<pollfd, 2> ends = {{{connection_, POLLOUT, 0}, {stop_event_, POLLIN, 0}}};
  poll(ends.data(), ends.size(), kLookAgainMs);
}

bool CaptureStream::send(std::string& text) {
  while (send_now(text)) {
    if (text.empty()) return true;
    if (stopped()) return false;
    wait_for_room();
  }
  return false;
}

bool CaptureStream::send_last(std::string& text) {
  if (send(text)) return true;
  // As much as the system allows, which is twice what a socket has from the start.
  const int room = INT_MAX;
  setsockopt(connection_, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  return send_now(text) && text.empty();
}

bool CaptureStream::wanted(int wait_ms) const {
  std::array<pollfd, 2> ends = {{{connection_, POLLRDHUP, 0}, {stop_event_, POLLIN, 0}}};
  return poll(ends.data(), ends.size(), wait_ms) == 0;
}

void CaptureStream::stop() {
  stopped_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof one);
}

CaptureStream::Clock::duration CaptureStream::unread_for() const {
  const Clock::rep since = unread_since_.load(std::memory_order_relaxed);
  if (since == 0) return {};
  return std::max(Clock::now().time_since_epoch() - Clock::duration(since), Clock::duration(1));
}

std::string peer_of(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  const bool known = getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
  // A process of another PID namespace has no number here.
  if (!known || peer.pid <= 0) return "a process in another PID namespace";
  return "process " + std::to_string(peer.pid);
}

}  // namespace tributary::control
