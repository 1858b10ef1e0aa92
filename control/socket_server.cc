#include "control/socket_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "control/send_all.h"

namespace tributary::control {
namespace {

constexpr int kClientTimeoutSeconds = 2;  // for its request, and for taking the reply
constexpr int kBacklog = 8;

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
  const timeval limit{kClientTimeoutSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  void release() { fd_ = -1; }

 private:
  int fd_;
};

}  // namespace

SocketServer::SocketServer(const std::string& path, Handler handler, Takeover takeover)
    : path_(path), handler_(std::move(handler)), takeover_(std::move(takeover)) {
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
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

SocketServer::~SocketServer() {
  const std::uint64_t one = 1;
  if (write(stop_event_, &one, sizeof one) == sizeof one) thread_.join();
  close(listener_);
  close(stop_event_);
  unlink(path_.c_str());
}

void SocketServer::run() {
  std::array<pollfd, 2> waits = {{{listener_, POLLIN, 0}, {stop_event_, POLLIN, 0}}};
  while (true) {
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) return;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    serve(connection);
  }
}

void SocketServer::serve(int accepted) {
  Connection connection(accepted);
  set_timeouts(accepted);
  std::string request;
  while (request.size() <= kMostRequestBytes) {
    std::array<char, 1024> piece;
    const ssize_t got = recv(accepted, piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;  // timed out
    if (got == 0 && request.empty()) return;
    request.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t newline = request.find('\n');
    // The end of what the client sends ends its line too.
    if (newline == std::string::npos && got != 0) continue;
    const auto line = std::string_view(request).substr(0, newline);
    if (takeover_ && takeover_(line, accepted)) return connection.release();
    send_all(accepted, handler_(line) + "\n");
    return;
  }
  send_all(accepted, "{\"ok\":false,\"error\":\"the request is longer than " +
                         std::to_string(kMostRequestBytes) + " bytes\"}\n");
}

}  // namespace tributary::control
