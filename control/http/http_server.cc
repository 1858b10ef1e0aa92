#include "control/http/http_server.h"

#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "control/http/listening_socket.h"

namespace tributary::control {
namespace {

// Connections accepted in a turn: each request that has come is answered before as many others may
// replace its connection.
constexpr int kMostInATurn = 64;
constexpr Duration kRest = Duration::ms(100);
constexpr std::int64_t kLongestWaitMs = 60'000;

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

int connection_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

MHD_Result send_page(MHD_Connection* connection, const HttpPage& page) {
  // The library only reads what it copies.
  MHD_Response* const response = MHD_create_response_from_buffer(
      page.body.size(), const_cast<char*>(page.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.content_type.c_str());
  if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, page.status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result note_argument(void* query, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpQuery*>(query)->insert_or_assign(name, value == nullptr ? "" : value);
  return MHD_YES;
}

HttpQuery query_of(MHD_Connection* connection) {
  HttpQuery query;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, note_argument, &query);
  return query;
}

HttpPage plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

HttpPage page_of(const HttpServer::Pages& pages, const std::string& path, const HttpQuery& query) {
  const auto page = pages.find(path);
  if (page == pages.end()) {
    std::string text = "not here; there are:";
    for (const auto& [known, make] : pages) text += ' ' + known;
    return plain(MHD_HTTP_NOT_FOUND, text + '\n');
  }
  try {
    return page->second(query);
  } catch (const std::invalid_argument& error) {
    return plain(MHD_HTTP_BAD_REQUEST, error.what());
  } catch (const std::exception& error) {
    return plain(MHD_HTTP_INTERNAL_SERVER_ERROR, error.what());
  }
}

}  // namespace

// The server's thread: accepts connections and closes those that are late; the library reads,
// answers and writes when its epoll descriptor is ready.
class HttpServer::Loop {
 public:
  Loop(const std::string& listen, Pages pages, const HttpConnections::Limits& limits)
      : pages_(std::move(pages)),
        listener_(listen),
        port_(listener_.port()),
        connections_(limits),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    daemon_ = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, nullptr, nullptr,
                               answer, this, MHD_OPTION_NOTIFY_CONNECTION, note_connection, this,
                               MHD_OPTION_NOTIFY_COMPLETED, note_answered, this, MHD_OPTION_END);
    const auto* const info =
        daemon_ == nullptr ? nullptr : MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD);
    if (wake_ < 0 || info == nullptr) {
      release();
      throw std::runtime_error(listen + ": the HTTP server does not start");
    }
    epoll_ = info->epoll_fd;
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    stopping_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
    thread_.join();
    release();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  // Called when the head of a request is there, and again for each part of its body.
  static MHD_Result answer(void* loop, MHD_Connection* connection, const char* path,
                           const char* method, const char*, const char*, std::size_t* body_bytes,
                           void** seen) {
    if (*body_bytes != 0) {
      *body_bytes = 0;
      return MHD_YES;
    }
    static char begun;
    if (*seen == nullptr) {
      *seen = &begun;
      return MHD_YES;
    }
    auto& self = *static_cast<Loop*>(loop);
    self.connections_.asked(connection_of(connection), self.now_);
    const std::string_view asked = method;
    if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
      return send_page(connection, plain(MHD_HTTP_METHOD_NOT_ALLOWED, "allowed: GET, HEAD\n"));
    return send_page(connection, page_of(self.pages_, path, query_of(connection)));
  }
  static void note_answered(void* loop, MHD_Connection* connection, void**,
                            MHD_RequestTerminationCode) {
    auto& self = *static_cast<Loop*>(loop);
    self.connections_.answered(connection_of(connection), self.now_);
  }
  // The end comes before the descriptor is closed: its number is not another's yet.
  static void note_connection(void* loop, MHD_Connection* connection, void**,
                              MHD_ConnectionNotificationCode what) {
    auto& self = *static_cast<Loop*>(loop);
    const int fd = connection_of(connection);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) self.connections_.accepted(fd, self.now_);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) self.connections_.closed(fd);
  }

  void run() {
    while (!stopping_) {
      const bool comes = wait();
      now_ = now();
      while (const auto late = connections_.late(now_)) end(*late);
      MHD_run(daemon_);
      if (comes) accept_some();
    }
  }

  // Returns true if a connection waits to be accepted.
  bool wait() {
    const bool rests = now_ < rest_until_;
    std::array<pollfd, 3> ready = {
        {{wake_, POLLIN, 0}, {epoll_, POLLIN, 0}, {rests ? -1 : listener_.get(), POLLIN, 0}}};
    MHD_UNSIGNED_LONG_LONG library_ms = 0;
    std::int64_t timeout_ms = kLongestWaitMs;
    if (MHD_get_timeout(daemon_, &library_ms) == MHD_YES)
      timeout_ms = std::min<std::int64_t>(timeout_ms, static_cast<std::int64_t>(library_ms));
    const Instant until = std::min(connections_.deadline(), rests ? rest_until_ : Instant::max());
    if (until != Instant::max())
      timeout_ms = std::min(timeout_ms, (until - now()).to_ns() / 1'000'000 + 1);
    poll(ready.data(), ready.size(), static_cast<int>(std::max<std::int64_t>(timeout_ms, 0)));
    return ready[2].revents != 0;
  }

  // The library sees the end, and closes the connection.
  void end(int connection) {
    ::shutdown(connection, SHUT_RDWR);
    connections_.closed(connection);
  }

  bool replace_one() {
    const auto replaceable = connections_.replaceable();
    if (!replaceable) return false;
    end(*replaceable);
    MHD_run(daemon_);
    return true;
  }

  void accept_some() {
    for (int i = 0; i < kMostInATurn; ++i) {
      sockaddr_storage peer{};
      socklen_t length = sizeof peer;
      const int fd = accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &length,
                             SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        // Where no descriptor is left, one comes back when a connection makes way; else the
        // listener stays ready, and is not looked at for a while.
        const bool none_left =
            errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (none_left && !replace_one()) rest_until_ = now_ + kRest;
        return;
      }
      if (connections_.is_full()) replace_one();
      // The library closes a connection that it does not take.
      MHD_add_connection(daemon_, fd, reinterpret_cast<sockaddr*>(&peer), length);
      MHD_run(daemon_);
    }
  }

  void release() {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
    if (wake_ >= 0) close(wake_);
  }

  const Pages pages_;
  ListeningSocket listener_;
  const int port_;
  HttpConnections connections_;  // the thread's
  const int wake_;
  MHD_Daemon* daemon_ = nullptr;
  int epoll_ = -1;  // the library's
  Instant now_;     // of this turn
  Instant rest_until_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

HttpServer::HttpServer(const std::string& listen, Pages pages,
                       const HttpConnections::Limits& limits)
    : loop_(std::make_unique<Loop>(listen, std::move(pages), limits)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return loop_->port();
}

}  // namespace tributary::control
