// The library's end of memif's control channel, before a switch that sends what it should not.
#include "worker/transport/memif_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"
#include "worker/transport/memif_rings.h"

namespace tributary::worker {
namespace {

using memif::Message;
using memif::MessageType;

int lowest_free_descriptor() {
  const FileDescriptor taken(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return taken.get();
}

// Takes one client's handshake, as a switch does, at an abstract socket.
class Switch {
 public:
  Switch() : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path + 1, path_.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + path_.size());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this] { shake_hands(); });
  }
  ~Switch() {
    if (thread_.joinable()) thread_.join();
  }
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void wait() { thread_.join(); }

  // After wait().
  void send(MessageType type, const std::vector<int>& passed) const {
    Message m{};
    m.type = type;
    iovec body{&m, sizeof m};
    msghdr header{};
    header.msg_iov = &body;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    if (!passed.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(passed.size() * sizeof(int));
      cmsghdr* const c = CMSG_FIRSTHDR(&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
      std::memcpy(CMSG_DATA(c), passed.data(), passed.size() * sizeof(int));
    }
    EXPECT_EQ(::sendmsg(client_.get(), &header, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof m));
  }

 private:
  void shake_hands() {
    client_ = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Message hello{};
    hello.type = MessageType::hello;
    hello.hello.min_version = hello.hello.max_version = memif::kVersion;
    hello.hello.max_log2_ring_size = 14;
    EXPECT_EQ(::send(client_.get(), &hello, sizeof hello, MSG_NOSIGNAL),
              static_cast<ssize_t>(sizeof hello));
    for (Message m{}; m.type != MessageType::connect;) {
      if (::recv(client_.get(), &m, sizeof m, 0) != static_cast<ssize_t>(sizeof m)) return;
      send(m.type == MessageType::connect ? MessageType::connected : MessageType::ack, {});
    }
  }

  const std::string path_ = "tributary-switch-" + std::to_string(::getpid());
  FileDescriptor listener_;
  FileDescriptor client_;
  std::thread thread_;
};

TEST(MemifControlTimed, DescriptorsThatAreOfNoUseAreClosed) {
  Switch there;
  MemifRings rings;
  MemifControl control(there.path(), 0, rings, Duration::seconds(60));
  there.wait();
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int free = lowest_free_descriptor();
  there.send(MessageType::share, {file.get(), file.get()});
  EXPECT_FALSE(control.server_left());
  there.send(MessageType::ack, {file.get()});
  EXPECT_FALSE(control.server_left());
  EXPECT_EQ(lowest_free_descriptor(), free);
}

}  // namespace
}  // namespace tributary::worker
