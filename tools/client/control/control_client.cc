// Connect, send a line, read a line, judge it.
#include "tools/client/control/control_client.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>

#include "tools/client/control/stoppable_question.h"

namespace tributary::client {
namespace {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  Socket() : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

std::string system_text(int error) {
  return std::generic_category().message(error);
}

[[noreturn]] void fail_to_connect(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      throw ControlError("no socket at " + path +
                         ": start tributary-switchd with control.socket set to this path, or name "
                         "another with --socket PATH");
    case ECONNREFUSED:
      throw ControlError("no process listens on " + path +
                         ": tributary-switchd is not running, or was killed and left the file "
                         "behind; start it");
    case EACCES:
    case EPERM:
      throw ControlError("no permission to use " + path +
                         ": run as root or as the user that tributary-switchd runs as");
    case EAGAIN: throw ControlError("tributary-switchd at " + path + " is busy: try again");
    default: throw ControlError("cannot connect to " + path + ": " + system_text(error));
  }
}

void connect_to(const Socket& socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    throw ControlError("socket path " + path + " has " + std::to_string(path.size()) +
                       " bytes; allowed: 1 to " + std::to_string(sizeof(address.sun_path) - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  if (socket.fd() < 0) throw ControlError("cannot make a socket: " + system_text(errno));
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail_to_connect(path, errno);
}

// When an exchange ends without an answer: at a time, or once a descriptor can be read.
struct Patience {
  Clock::time_point deadline;
  int stop = -1;
};

void wait_for(const Socket& socket, short events, const Patience& patience,
              const std::string& path) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(patience.deadline - Clock::now())
            .count();
    std::array<pollfd, 2> waits = {{{socket.fd(), events, 0}, {patience.stop, POLLIN, 0}}};
    const int n = left > 0 ? ::poll(waits.data(), waits.size(), static_cast<int>(left)) : 0;
    if (n > 0 && waits[1].revents != 0)
      throw ControlError("tributary-switchd at " + path +
                         " did not answer before this program ends");
    if (n > 0) return;
    if (n == 0)
      throw ControlError("tributary-switchd at " + path +
                         " does not answer: its control thread hangs or is stopped");
    if (errno != EINTR) throw ControlError("cannot wait for " + path + ": " + system_text(errno));
  }
}

void send_line(const Socket& socket, const std::string& line, const Patience& patience,
               const std::string& path) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    wait_for(socket, POLLOUT, patience, path);
    const ssize_t n =
        ::send(socket.fd(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
      sent += static_cast<std::size_t>(n);
    else if (errno == EPIPE || errno == ECONNRESET)
      return;  // it may have answered before it closed
    else if (errno != EAGAIN && errno != EINTR)
      throw ControlError("cannot send to " + path + ": " + system_text(errno));
  }
}

// Bytes that came after the line go to `rest`.
std::string receive_line(const Socket& socket, const Patience& patience, const std::string& path,
                         std::string& rest) {
  std::string line;
  std::array<char, 16 << 10> block{};
  for (;;) {
    wait_for(socket, POLLIN, patience, path);
    const ssize_t n = ::recv(socket.fd(), block.data(), block.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) throw ControlError("cannot receive from " + path + ": " + system_text(errno));
    const std::string_view got(block.data(), static_cast<std::size_t>(n));
    const std::size_t end = got.find('\n');
    line += got.substr(0, end);
    if (end != std::string_view::npos) {
      rest = got.substr(end + 1);
      return line;
    }
    if (n == 0)
      throw ControlError("the process at " + path +
                         " closed the connection without an answer: is it tributary-switchd, and "
                         "of this version?");
    if (line.size() > kMaxReplyBytes)
      throw ControlError("the answer from " + path + " exceeds " + std::to_string(kMaxReplyBytes) +
                         " bytes");
  }
}

// Nesting costs the JSON parser heap only, but dump() and comparison recurse.
bool too_deep(const std::string& text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > 64) return true;
  }
  return false;
}

std::vector<std::string> notes_of(const Json& reply) {
  std::vector<std::string> notes;
  const auto list = reply.find("notes");
  if (list == reply.end() || !list->is_array()) return notes;
  for (const Json& note : *list)
    if (note.is_string()) notes.push_back(note.get<std::string>());
  return notes;
}

// The data and notes of an answer that says ok; throws ControlError for any other.
Reply reply_in(const std::string& line, const std::string& path) {
  const Json reply = too_deep(line) ? Json() : Json::parse(line, nullptr, false);
  if (!reply.is_object() || !reply.contains("ok") || !reply["ok"].is_boolean())
    throw ControlError("the answer from " + path +
                       " is not one that this client understands: is it tributary-switchd, and of "
                       "this version?");
  if (!reply["ok"].get<bool>()) {
    const bool has_text = reply.contains("error") && reply["error"].is_string();
    throw ControlError("tributary-switchd refused: " +
                       (has_text ? reply["error"].get<std::string>() : "no reason given"));
  }
  return {reply.contains("data") ? reply["data"] : Json::array(), notes_of(reply)};
}

Reply exchange(const std::string& path, const Json& request, const Patience& patience) {
  const Socket socket;
  connect_to(socket, path);
  send_line(socket, request.dump() + '\n', patience, path);
  std::string rest;
  return reply_in(receive_line(socket, patience, path, rest), path);
}

// SIGINT and SIGTERM as something to poll, as long as it lives.
class StopSignals {
 public:
  StopSignals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before_);
    fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~StopSignals() {
    if (fd_ >= 0) ::close(fd_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  // One that waits would end the process later.
  void take() {
    signalfd_siginfo info;
    [[maybe_unused]] const ssize_t n = ::read(fd_, &info, sizeof info);
  }

 private:
  sigset_t before_{};
  int fd_ = -1;
};

}  // namespace

Json ask_switch(const std::string& socket_path, const Json& request, Duration timeout) {
  return ask_with_notes(socket_path, request, timeout).data;
}

Reply ask_with_notes(const std::string& socket_path, const Json& request, Duration timeout) {
  return exchange(socket_path, request, {Clock::now() + std::chrono::nanoseconds(timeout.to_ns())});
}

Json ask_switch_until(int stop, const std::string& socket_path, const Json& request,
                      Duration timeout) {
  const auto deadline = Clock::now() + std::chrono::nanoseconds(timeout.to_ns());
  return exchange(socket_path, request, {deadline, stop}).data;
}

void stream_from_switch(const std::string& socket_path, const Json& request,
                        const std::function<void(std::string_view bytes)>& sink) {
  StopSignals signals;
  const Patience patience{Clock::now() + std::chrono::seconds(5)};
  const Socket socket;
  connect_to(socket, socket_path);
  send_line(socket, request.dump() + '\n', patience, socket_path);
  std::string rest;
  reply_in(receive_line(socket, patience, socket_path, rest), socket_path);
  if (!rest.empty()) sink(rest);
  std::array<pollfd, 2> waits = {{{socket.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}}};
  std::array<char, 64 << 10> block;
  for (;;) {
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) {
      signals.take();
      ::shutdown(socket.fd(), SHUT_WR);  // it ends what it sends as it should be ended
    }
    if (waits[0].revents == 0) continue;
    const ssize_t n = ::recv(socket.fd(), block.data(), block.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n < 0) throw ControlError("cannot receive from " + socket_path + ": " + system_text(errno));
    if (n == 0) return;
    sink({block.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace tributary::client
