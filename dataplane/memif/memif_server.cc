#include "dataplane/memif/memif_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace tributary::dataplane {
namespace {

// After which a process that was short of descriptors looks at its listeners again.
constexpr int kShortMs = 100;

}  // namespace

MemifServer& MemifServer::instance() {
  static MemifServer& server = *new MemifServer;  // ports may live as long as the process
  return server;
}

MemifListener* MemifServer::find(const MemifSettings& settings) {
  const auto found =
      std::find_if(listeners_.begin(), listeners_.end(),
                   [&](const MemifListener& listener) { return listener.is_at(settings); });
  return found == listeners_.end() ? nullptr : &*found;
}

void MemifServer::add(MemifPort& port) {
  const std::lock_guard threads(threads_);
  {
    const std::lock_guard lock(guard_);
    const MemifSettings& settings = port.settings();
    for (const MemifListener& listener : listeners_)
      if (listener.has_device(settings.device))
        throw std::invalid_argument(
            "there is a device of that name already; give this one another");
    MemifListener* listener = find(settings);
    if (listener == nullptr)
      listener = &listeners_.emplace_back(settings, counters_);
    else if (listener->serves(settings.id))
      throw std::system_error(EADDRINUSE, std::generic_category());
    listener->add(port);
  }
  if (thread_.joinable()) return;
  wake_ = worker::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void MemifServer::open(MemifPort& port) {
  const std::lock_guard lock(guard_);
  find(port.settings())->open(port);
  wake();
}

void MemifServer::remove(MemifPort& port) {
  const std::lock_guard threads(threads_);
  {
    const std::lock_guard lock(guard_);
    find(port.settings())->remove(port);
    std::erase_if(listeners_, [](const MemifListener& one) { return !one.has_ports(); });
    stopping_ = listeners_.empty();
    wake();
    if (!stopping_) return;
  }
  thread_.join();
}

void MemifServer::disconnect_broken(const MemifPort& port) {
  const std::lock_guard lock(guard_);
  if (!port.broken()) return;
  find(port.settings())->disconnect(port, "the client broke memif's protocol");
  wake();  // a socket that the thread waits for ends when it waits no longer
}

void MemifServer::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
}

void MemifServer::run() {
  for (;;) {
    const std::vector<int> ready = await();
    const std::lock_guard lock(guard_);
    if (stopping_) return;
    for (MemifListener& listener : listeners_) listener.handle(ready);
  }
}

// A descriptor that is closed meanwhile, and another one by then, costs a look.
std::vector<int> MemifServer::await() {
  std::vector<int> descriptors = {wake_.get()};
  bool is_short = false;
  {
    const std::lock_guard lock(guard_);
    for (const MemifListener& listener : listeners_) {
      listener.list(descriptors);
      is_short = is_short || listener.is_short();
    }
  }
  std::vector<pollfd> looks;
  for (const int descriptor : descriptors) looks.push_back({descriptor, POLLIN, 0});
  std::vector<int> ready;
  if (::poll(looks.data(), looks.size(), is_short ? kShortMs : -1) <= 0) return ready;
  for (const pollfd& look : looks)
    if (look.revents != 0) ready.push_back(look.fd);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(wake_.get(), &count, sizeof count);
  return ready;
}

}  // namespace tributary::dataplane
