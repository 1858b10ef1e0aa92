#include "tests/fuzz/memif_server.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

sockaddr_un address_of(const std::string& name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

worker::FileDescriptor seqpacket_socket() {
  worker::FileDescriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  FUZZ_CHECK(static_cast<bool>(fd));
  return fd;
}

}  // namespace

MemifServer::MemifServer()
    : path_("tributary-fuzz-memif-" + std::to_string(::getpid())), listener_(seqpacket_socket()) {
  socklen_t length = 0;
  const sockaddr_un address = address_of(path_, length);
  FUZZ_CHECK(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  FUZZ_CHECK(::listen(listener_.get(), 1) == 0);
  thread_ = std::thread([this] { run(); });
}

MemifServer::~MemifServer() {
  {
    std::unique_lock lock(mutex_);
    served_.wait(lock, [this] { return !busy_; });
    stopping_ = true;
  }
  const worker::FileDescriptor knock = seqpacket_socket();
  socklen_t length = 0;
  const sockaddr_un address = address_of(path_, length);
  ::connect(knock.get(), reinterpret_cast<const sockaddr*>(&address), length);
  thread_.join();
}

void MemifServer::set_script(Script script) {
  std::unique_lock lock(mutex_);
  served_.wait(lock, [this] { return !busy_; });
  script_ = std::move(script);
  busy_ = true;
}

void MemifServer::run() {
  while (true) {
    const worker::FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    Script script;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      script = script_;
    }
    serve(client.get(), script);
    const std::lock_guard lock(mutex_);
    busy_ = false;
    served_.notify_all();
  }
}

void MemifServer::serve(int client, const Script& script) {
  for (const auto& message : script)
    if (::send(client, message.data(), message.size(), MSG_NOSIGNAL) < 0) break;
  ::shutdown(client, SHUT_WR);
  // Without room for them, descriptors that the client passes are closed by the kernel.
  std::array<std::byte, 256> heard;
  while (::recv(client, heard.data(), heard.size(), 0) > 0) {
  }
}

}  // namespace tributary::fuzz
