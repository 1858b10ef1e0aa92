// A podman that lists no containers and answers nothing else.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tributary::agentd {

class SilentPodman {
 public:
  explicit SilentPodman(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~SilentPodman() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int fd : kept_) ::close(fd);
    ::close(listener_);
  }
  SilentPodman(const SilentPodman&) = delete;
  SilentPodman& operator=(const SilentPodman&) = delete;

  // Waits until there were so many requests of a method, "GET" or "POST".
  void await(const std::string& method, std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_of(method) >= count; });
  }
  std::size_t count(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return count_of(method);
  }

 private:
  std::size_t count_of(const std::string& method) const {
    std::size_t found = 0;
    for (const std::string& one : methods_) found += one == method ? 1 : 0;
    return found;
  }

  void run() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      kept_.push_back(fd);
      std::string head;
      for (char c = 0; !head.ends_with("\r\n\r\n") && ::recv(fd, &c, 1, 0) == 1;) head += c;
      const std::string method = head.substr(0, head.find(' '));
      if (method == "GET") {
        constexpr std::string_view kNone =
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]";
        EXPECT_EQ(::send(fd, kNone.data(), kNone.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(kNone.size()));
        ::shutdown(fd, SHUT_WR);
      }
      const std::lock_guard lock(mutex_);
      methods_.push_back(method);
      changed_.notify_all();
    }
  }

  const int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> methods_;  // of requests
  std::vector<int> kept_;             // connections; of the thread until it has ended
  std::thread thread_;
};

}  // namespace tributary::agentd
