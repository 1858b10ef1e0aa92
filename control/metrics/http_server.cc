#include "control/metrics/http_server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace tributary::control {
namespace {

// A scraper has one, or two while it starts anew; the rest are probes, and peers that say nothing.
constexpr unsigned kMostConnections = 256;
constexpr unsigned kMostFromOneAddress = 128;
constexpr unsigned kSilenceSeconds = 5;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

Address address_of(const std::string& listen) {
  Address address;
  const std::size_t colon = listen.rfind(':');
  const auto port = htons(static_cast<std::uint16_t>(std::stoul(listen.substr(colon + 1))));
  if (listen.starts_with('[')) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    inet_pton(AF_INET6, listen.substr(1, colon - 2).c_str(), &v6.sin6_addr);
    std::memcpy(&address.storage, &v6, address.length = sizeof v6);
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    inet_pton(AF_INET, listen.substr(0, colon).c_str(), &v4.sin_addr);
    std::memcpy(&address.storage, &v4, address.length = sizeof v4);
  }
  return address;
}

class Socket {
 public:
  explicit Socket(int family)
      : fd_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::string& listen, int error) {
  std::string text = listen + ": cannot bind: " + std::generic_category().message(error);
  if (error == EADDRINUSE) text += "; another process listens there";
  if (error == EADDRNOTAVAIL) text += "; this machine has no such address";
  if (error == EAFNOSUPPORT) text += "; the kernel has no IPv6";
  if (error == EACCES) text += "; ports below 1024 need CAP_NET_BIND_SERVICE";
  throw std::runtime_error(text);
}

// Listening. The library would not say why it can't.
Socket listen_at(const std::string& listen) {
  const Address address = address_of(listen);
  Socket socket(address.storage.ss_family);
  const int on = 1;
  if (socket.get() < 0 ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) !=
          0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    fail(listen, errno);
  return socket;
}

int port_of(const Socket& socket) {
  Address bound;
  bound.length = sizeof bound.storage;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  // sin6_port has the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
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

HttpPage plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

// Called when the head of a request is there, and again for each part of its body.
MHD_Result answer(void* context, MHD_Connection* connection, const char* path, const char* method,
                  const char*, const char*, std::size_t* body_bytes, void** seen) {
  if (*body_bytes != 0) {
    *body_bytes = 0;
    return MHD_YES;
  }
  static char begun;
  if (*seen == nullptr) {
    *seen = &begun;
    return MHD_YES;
  }
  const auto& pages = *static_cast<const HttpServer::Pages*>(context);
  const std::string_view asked = method;
  if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
    return send_page(connection, plain(MHD_HTTP_METHOD_NOT_ALLOWED, "allowed: GET, HEAD\n"));
  if (const auto page = pages.find(path); page != pages.end()) try {
      return send_page(connection, page->second());
    } catch (const std::exception& error) {
      return send_page(connection, plain(MHD_HTTP_INTERNAL_SERVER_ERROR, error.what()));
    }
  std::string text = "not here; there are:";
  for (const auto& [known, make] : pages) text += ' ' + known;
  return send_page(connection, plain(MHD_HTTP_NOT_FOUND, text + '\n'));
}

}  // namespace

void HttpServer::Stop::operator()(MHD_Daemon* daemon) const {
  MHD_stop_daemon(daemon);
}

HttpServer::~HttpServer() = default;

HttpServer::HttpServer(const std::string& listen, Pages pages) : pages_(std::move(pages)) {
  Socket socket = listen_at(listen);
  port_ = port_of(socket);
  daemon_.reset(MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr,
                                 answer, const_cast<Pages*>(&pages_), MHD_OPTION_LISTEN_SOCKET,
                                 socket.get(), MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
                                 MHD_OPTION_PER_IP_CONNECTION_LIMIT, kMostFromOneAddress,
                                 MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds, MHD_OPTION_END));
  if (!daemon_) throw std::runtime_error(listen + ": the HTTP server does not start");
  socket.release();  // the daemon closes it
}

}  // namespace tributary::control
