#include "control/socket/socket_connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace tributary::control {

SocketConnection::~SocketConnection() {
  if (fd_ >= 0) close(fd_);
}

short SocketConnection::events() const {
  if (state_ == State::reading) return POLLIN;
  return state_ == State::writing ? POLLOUT : 0;
}

// False: nothing more is there now.
bool SocketConnection::receive() {
  std::array<char, 1024> piece;
  const ssize_t got = recv(fd_, piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0 || (got == 0 && received_.empty())) {
    state_ = State::over;
    return false;
  }
  const std::size_t before = received_.size();
  received_.append(piece.data(), static_cast<std::size_t>(got));
  line_bytes_ = received_.find('\n', before);
  // The end of what the client sends ends its line too.
  if (got == 0) line_bytes_ = received_.size();
  if (line_bytes_ == std::string::npos) return true;
  state_ = State::answering;
  return false;
}

void SocketConnection::advance(std::size_t most, std::string_view too_long,
                               Clock::time_point reply_by) {
  if (state_ == State::writing) return send();
  while (state_ == State::reading && received_.size() <= most && receive()) {
  }
  const std::size_t bytes = state_ == State::answering ? line_bytes_ : received_.size();
  if (state_ != State::over && bytes > most) reply(std::string(too_long), reply_by);
}

void SocketConnection::reply(std::string text, Clock::time_point deadline) {
  state_ = State::writing;
  deadline_ = deadline;
  reply_ = std::move(text);
  send();
}

void SocketConnection::send() {
  while (sent_ < reply_.size()) {
    const ssize_t n =
        ::send(fd_, reply_.data() + sent_, reply_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) break;  // the client has gone
    sent_ += static_cast<std::size_t>(n);
  }
  state_ = State::over;
}

void SocketConnection::release() {
  fd_ = -1;
  state_ = State::over;
}

}  // namespace tributary::control
