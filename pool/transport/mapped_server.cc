// Hands a read-only descriptor of the node's memory file to readers that know the key.
//
// A connection sends the key at once, or is closed. Where all places are taken, a newcomer replaces
// the oldest one that has not sent it; readers keep their places.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/pending_connections.h"
#include "pool/transport/file.h"
#include "pool/transport/mapped.h"

namespace tributary::pool {
namespace {

constexpr int kBacklog = 256;
constexpr int kPauseMs = 100;

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

File open_spare() {
  return File(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

[[noreturn]] void fail_server(const std::string& what) {
  throw TransportError("mapped: " + what + ": " + std::generic_category().message(errno));
}

std::uint64_t draw() {
  std::uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value) fail_server("random numbers");
  return value;
}

class MappedServer : public MemoryServer {
 public:
  MappedServer(const LocalMemory& memory, const MappedLimits& limits)
      : most_(limits.connections),
        silent_(limits.key_time),
        stop_(eventfd(0, EFD_CLOEXEC)),
        listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    if (memory.file < 0) throw TransportError("mapped: the memory is no file");
    if (stop_.get() < 0 || listener_.get() < 0) fail_server("socket");
    const std::string path = "/proc/self/fd/" + std::to_string(memory.file);
    readable_ = File(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (readable_.get() < 0) fail_server("opening the memory for reading");
    const std::string name = "tributary-pool-" + std::to_string(draw());
    memory_.transport = TransportKind::mapped;
    memory_.bytes = memory.bytes.size();
    memory_.key = draw();
    const auto bytes = std::as_bytes(std::span(name));
    memory_.address.assign(bytes.begin(), bytes.end());
    const AbstractAddress address(memory_.address);
    if (bind(listener_.get(), address.get(), address.length) != 0 ||
        listen(listener_.get(), kBacklog) != 0)
      fail_server("listening");
    thread_ = std::thread([this] { serve(); });
  }
  ~MappedServer() override {
    const std::uint64_t one = 1;
    static_cast<void>(!write(stop_.get(), &one, sizeof one));
    thread_.join();
  }

  [[nodiscard]] TransportKind kind() const override { return TransportKind::mapped; }

  // A descriptor that was handed out cannot be taken back: one key is as good as several.
  std::unique_ptr<ReadPermit> admit(const std::string&) override {
    return std::make_unique<Permit>(memory_);
  }

 private:
  struct Permit : ReadPermit {
    explicit Permit(RemoteMemory memory) : remote(std::move(memory)) {}
    [[nodiscard]] const RemoteMemory& memory() const override { return remote; }
    const RemoteMemory remote;
  };

  void serve() {
    for (bool goes_on = true; goes_on;) {
      try {
        goes_on = turn();
      } catch (const std::bad_alloc&) {
        pollfd stop{stop_.get(), POLLIN, 0};
        goes_on = poll(&stop, 1, kPauseMs) == 0;
      }
    }
  }

  // Returns false at the end.
  bool turn() {
    std::vector<pollfd> files = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (const File& reader : readers_) files.push_back({reader.get(), POLLIN, 0});
    if (poll(files.data(), files.size(), timeout_ms()) < 0 && errno != EINTR) return false;
    if (files[0].revents != 0) return false;
    // From the back, so that readers not checked yet keep their places.
    for (std::size_t i = readers_.size(); i-- > 0;)
      if (files[i + 2].revents != 0 && !answer(readers_[i].get())) drop(i);
    while (const auto late = silent_.late(now())) drop_reader(*late);
    if (files[1].revents != 0) accept_one();
    return true;
  }

  // Until the oldest silent connection is late; -1: none is silent.
  [[nodiscard]] int timeout_ms() const {
    const Instant until = silent_.deadline();
    if (until == Instant::max()) return -1;
    const std::int64_t left_ms = (until - now()).to_ns() / 1'000'000 + 1;
    return static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, kMappedHandshakeMs));
  }

  void drop(std::size_t place) {
    silent_.remove(readers_[place].get());
    readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  void drop_reader(int reader) {
    const auto is_it = [reader](const File& file) { return file.get() == reader; };
    const auto found = std::find_if(readers_.begin(), readers_.end(), is_it);
    silent_.remove(reader);
    if (found != readers_.end()) readers_.erase(found);
  }
  // Returns false if every connection is a reader's.
  bool replace_one() {
    const auto oldest = silent_.oldest();
    if (oldest) drop_reader(*oldest);
    return oldest.has_value();
  }

  void accept_one() {
    if (readers_.size() >= most_) replace_one();
    File reader(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (reader.get() < 0 && (errno == EMFILE || errno == ENFILE)) {
      if (replace_one()) return;  // the listener stays ready
      // The spare descriptor accepts the reader and refuses it.
      spare_ = File(-1);
      reader = File(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (reader.get() < 0) {
        pollfd stop{stop_.get(), POLLIN, 0};
        poll(&stop, 1, kPauseMs);
      }
      reader = File(-1);
      spare_ = open_spare();
      return;
    }
    if (reader.get() < 0 || readers_.size() >= most_) return;
    silent_.add(reader.get(), now());
    readers_.push_back(std::move(reader));
  }

  // Returns false if the connection ends. The key comes once, as one packet.
  bool answer(int reader) {
    std::uint64_t key = 0;
    if (recv(reader, &key, sizeof key, MSG_DONTWAIT) != sizeof key || key != memory_.key)
      return false;
    silent_.remove(reader);
    char byte = 0;
    iovec payload{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    const int file = readable_.get();
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
    return sendmsg(reader, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
  }

  const std::size_t most_;
  PendingConnections<int> silent_;  // those of readers_ that have not sent the key; the thread's
  File stop_;
  File listener_;
  File readable_;  // the memory, O_RDONLY
  File spare_ = open_spare();
  RemoteMemory memory_;
  std::vector<File> readers_;  // used only by the thread
  std::thread thread_;
};

}  // namespace

AbstractAddress::AbstractAddress(std::span<const std::byte> name) {
  if (name.empty() || name.size() >= sizeof address.sun_path)
    throw TransportError("mapped: the node's field 'address' means nothing here");
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

std::unique_ptr<MemoryServer> serve_by_mapping(const LocalMemory& memory,
                                               const MappedLimits& limits) {
  return std::make_unique<MappedServer>(memory, limits);
}

}  // namespace tributary::pool
