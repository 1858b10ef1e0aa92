// An HTTP server that answers what a test says, on a port of its own.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tributary::pool {

class HttpStub {
 public:
  // From a request's head to all bytes of the answer; empty: no answer, the connection stays open.
  using Handler = std::function<std::string(const std::string& head)>;

  // With `drip_ms`, each open connection gets a byte more after so many milliseconds without an
  // event.
  explicit HttpStub(Handler handler, int drip_ms = -1)
      : handler_(std::move(handler)), drip_ms_(drip_ms) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
      throw std::runtime_error("no port for the stub");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpStub() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  HttpStub(const HttpStub&) = delete;
  HttpStub& operator=(const HttpStub&) = delete;

  [[nodiscard]] std::string authority() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string url() const { return "http://" + authority(); }
  std::vector<std::string> heads() {
    const std::lock_guard lock(mutex_);
    return heads_;
  }

  static std::string answer(int status, const std::string& body, const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(status) +
           " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
           body;
  }

 private:
  void serve() {
    std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
    std::vector<std::string> received(1);
    while (!stopping_) {
      if (poll(fds.data(), fds.size(), drip_ms_) <= 0) {
        for (std::size_t i = 1; i < fds.size(); ++i) send(fds[i].fd, "x", 1, MSG_NOSIGNAL);
        continue;
      }
      for (std::size_t i = fds.size(); i-- > 1;) {
        if (fds[i].revents == 0 || read_from(fds[i].fd, received[i])) continue;
        close(fds[i].fd);
        fds.erase(fds.begin() + static_cast<std::ptrdiff_t>(i));
        received.erase(received.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (fds[0].revents == 0) continue;
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) break;
      fds.push_back({fd, POLLIN, 0});
      received.emplace_back();
    }
    for (std::size_t i = 1; i < fds.size(); ++i) close(fds[i].fd);
  }

  // False: the connection is to be closed.
  bool read_from(int fd, std::string& received) {
    char block[4096];
    const ssize_t n = recv(fd, block, sizeof block, 0);
    if (n <= 0) return false;
    received.append(block, static_cast<std::size_t>(n));
    const std::size_t end = received.find("\r\n\r\n");
    if (end == std::string::npos) return true;
    const std::string head = received.substr(0, end + 2);
    received.erase(0, end + 4);
    {
      const std::lock_guard lock(mutex_);
      heads_.push_back(head);
    }
    const std::string out = handler_(head);
    if (out.empty()) return true;
    send(fd, out.data(), out.size(), MSG_NOSIGNAL);
    // An answer that is shorter than it says ends with its connection.
    return out.find("\r\nConnection: close") == std::string::npos;
  }

  Handler handler_;
  const int drip_ms_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::vector<std::string> heads_;
  std::thread thread_;
};

}  // namespace tributary::pool
