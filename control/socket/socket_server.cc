#include "control/socket/socket_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tributary::control {
namespace {

constexpr int kBacklog = 256;
constexpr std::chrono::milliseconds kRest{100};

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error("control socket " + path + ": " + what +
                           (error != 0 ? std::string(": ") + std::strerror(error) : ""));
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    fail(path, "longer than " + std::to_string(sizeof address.sun_path - 1) + " characters", 0);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

int open_socket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail(path, "cannot open a socket", errno);
  return fd;
}

bool answered(const std::string& path, const sockaddr_un& address) {
  const int fd = open_socket(path);
  const bool yes = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return yes;
}

// Removes what a dead process left at the path.
void make_way(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) fail(path, "exists and is not a socket; choose another path", 0);
  if (answered(path, address))
    fail(path, "another process answers on it; stop that one or choose another path", 0);
  unlink(path.c_str());
}

void set_timeouts(int fd) {
  const timeval limit{SocketServer::kTakenTimeout.count(), 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int open_spare() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool lacks_descriptors(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::string refusal(const std::string& why) {
  return R"({"ok":false,"error":")" + why + "\"}\n";
}

const std::string& too_long() {
  static const std::string text = refusal(
      "the request is longer than " + std::to_string(SocketServer::kMostRequestBytes) + " bytes");
  return text;
}

}  // namespace

SocketServer::SocketServer(const std::string& path, Handler handler, Options options)
    : path_(path), handler_(std::move(handler)), options_(std::move(options)) {
  const sockaddr_un address = address_of(path);
  make_way(path, address);
  listener_ = open_socket(path);
  // Created without group or other rights, then opened to the group.
  const mode_t mask = umask(0177);
  const bool bound =
      bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  umask(mask);
  if (!bound || chmod(path.c_str(), 0660) != 0 || listen(listener_, kBacklog) != 0) {
    close(listener_);
    fail(path, "cannot listen; the directory must exist and be writable", error);
  }
  // A client may have gone when its turn comes.
  fcntl(listener_, F_SETFL, O_NONBLOCK);
  wake_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  spare_ = open_spare();
  thread_ = std::thread([this] { run(); });
}

SocketServer::~SocketServer() {
  stopping_.store(true);
  wake();
  thread_.join();
  quick_.stop();
  long_.stop();
  take_answers();
  close(listener_);
  close(wake_event_);
  if (spare_ >= 0) close(spare_);
  unlink(path_.c_str());
}

void SocketServer::wake() {
  const std::uint64_t one = 1;
  // It fails only when there is more to wake up for than can be counted.
  [[maybe_unused]] const ssize_t written = write(wake_event_, &one, sizeof one);
}

void SocketServer::run() {
  for (;;) {
    wait();
    if (stopping_.load()) return;
    take_answers();
    std::size_t at = 2;
    for (SocketConnection& connection : connections_)
      if (polls_[at++].revents != 0) serve(connection);
    drop_late();
    // One a turn: each has had its request read, if it has sent one, before another takes its
    // place.
    if (polls_[1].revents != 0) accept_one();
  }
}

void SocketServer::wait() {
  auto until = Clock::time_point::max();
  bool room = !full();
  if (const auto longest = longest_waiting(); !room && longest != connections_.end()) {
    room = patience_ends(*longest) <= Clock::now();
    if (!room) until = patience_ends(*longest);
  }
  if (spare_ < 0) spare_ = open_spare();
  if (Clock::now() < rest_until_) {
    room = false;
    until = std::min(until, rest_until_);
  }
  polls_ = {{wake_event_, POLLIN, 0}, {room ? listener_ : -1, POLLIN, 0}};
  for (const SocketConnection& connection : connections_) {
    // A connection that waits for an answer is not polled: its end alone would wake us up again and
    // again.
    polls_.push_back({connection.waits() ? connection.fd() : -1, connection.events(), 0});
    if (connection.waits()) until = std::min(until, connection.deadline());
  }
  int timeout_ms = -1;
  if (until != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (poll(polls_.data(), polls_.size(), timeout_ms) < 0)
    for (pollfd& waiting : polls_) waiting.revents = 0;
  std::uint64_t count = 0;
  if (polls_[0].revents != 0) [[maybe_unused]]
    const ssize_t got = read(wake_event_, &count, sizeof count);
}

void SocketServer::serve(SocketConnection& connection) {
  if (!connection.waits()) return;
  connection.advance(kMostRequestBytes, too_long(), Clock::now() + options_.limits.reply);
  if (connection.state() == SocketConnection::State::answering) hand_over(connection);
}

void SocketServer::hand_over(SocketConnection& connection) {
  const Limits& limits = options_.limits;
  const bool is_long = options_.takes_long && options_.takes_long(connection.line());
  const std::size_t most = is_long ? limits.waiting_long : limits.connections;
  RequestLane& lane = is_long ? long_ : quick_;
  const auto answer = std::make_shared<Answer>(Answer{&connection, {}, false});
  if (lane.post([this, answer, is_long] { make(*answer, !is_long); },
                [this, answer] { put(std::move(*answer)); }, most))
    return;
  connection.reply(refusal("busy: " + std::to_string(most) +
                           " requests of this kind are under way or wait; try again"),
                   Clock::now() + limits.reply);
}

void SocketServer::make(Answer& answer, bool may_take_over) {
  const SocketConnection& from = *answer.to;
  answer.taken_over =
      may_take_over && options_.takeover && options_.takeover(from.line(), from.fd());
  if (!answer.taken_over) answer.text = handler_(from.line()) + "\n";
}

void SocketServer::put(Answer answer) {
  {
    const std::lock_guard lock(answers_mutex_);
    answers_.push_back(std::move(answer));
  }
  wake();
}

void SocketServer::take_answers() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(answers_mutex_);
    answers.swap(answers_);
  }
  for (Answer& answer : answers)
    if (answer.taken_over)
      answer.to->release();
    else
      answer.to->reply(std::move(answer.text), Clock::now() + options_.limits.reply);
}

void SocketServer::drop_late() {
  const auto now = Clock::now();
  connections_.remove_if([now](const SocketConnection& connection) {
    return connection.state() == SocketConnection::State::over ||
           (connection.waits() && connection.deadline() <= now);
  });
}

std::list<SocketConnection>::iterator SocketServer::longest_waiting() {
  auto longest = connections_.end();
  for (auto it = connections_.begin(); it != connections_.end(); ++it)
    if (it->waits() &&
        (longest == connections_.end() || patience_ends(*it) < patience_ends(*longest)))
      longest = it;
  return longest;
}

SocketServer::Clock::time_point SocketServer::patience_ends(
    const SocketConnection& connection) const {
  const Limits& limits = options_.limits;
  const bool reading = connection.state() == SocketConnection::State::reading;
  return connection.deadline() - (reading ? limits.request : limits.reply) + limits.grace;
}

void SocketServer::accept_one() {
  if (full()) {
    // Since poll() it may have sent what it had to.
    const auto longest = longest_waiting();
    if (longest == connections_.end() || patience_ends(*longest) > Clock::now()) return;
    connections_.erase(longest);
  }
  int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0 && lacks_descriptors(errno)) fd = accept_by_spare();
  if (fd < 0) return;
  set_timeouts(fd);
  connections_.emplace_back(fd, Clock::now() + options_.limits.request);
}

// `show` has its answer where no descriptor is left. While the spare one is in use, the listener
// stays ready: it is not looked at for a while.
int SocketServer::accept_by_spare() {
  if (spare_ >= 0) close(std::exchange(spare_, -1));
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0 && lacks_descriptors(errno)) rest_until_ = Clock::now() + kRest;
  return fd;
}

}  // namespace tributary::control
