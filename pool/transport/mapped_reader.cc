// Copies records out of a node's memory file. A copy is done when post() returns; poll() only
// reports it.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "pool/transport/file.h"
#include "pool/transport/mapped.h"
#include "pool/transport/mapped_memory.h"

namespace tributary::pool {
namespace {

// The caller checks the copied data while it is still in the core's cache.
constexpr std::size_t kMostWaitingBytes = 32 << 10;

[[noreturn]] void fail(const std::string& what) {
  throw TransportError("mapped: " + what + ": " + std::generic_category().message(errno));
}

// All descriptors that came with a message, each of which needs closing.
std::vector<File> files_of(msghdr& message) {
  std::vector<File> files;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(c) + i * sizeof file, sizeof file);
      files.emplace_back(file);
    }
  }
  return files;
}

File receive_file(int connection) {
  pollfd ready{connection, POLLIN, 0};
  if (poll(&ready, 1, kMappedHandshakeMs) <= 0)
    throw TransportError("mapped: the node does not answer");
  char byte = 0;
  iovec payload{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &payload;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t received = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  std::vector<File> files;
  if (received >= 0) files = files_of(message);
  if (received != 1) throw TransportError("mapped: the node refuses the key");
  if (files.size() != 1) throw TransportError("mapped: the node sends no memory");
  return std::move(files.front());
}

class MappedReader : public NodeReader {
 public:
  explicit MappedReader(const RemoteMemory& memory)
      : size_(memory.bytes), connection_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    if (connection_.get() < 0) fail("socket");
    // A node that takes no connection would be waited for without end.
    const timeval most{kMappedHandshakeMs / 1000, kMappedHandshakeMs % 1000 * 1000};
    setsockopt(connection_.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    const AbstractAddress address(memory.address);
    if (connect(connection_.get(), address.get(), address.length) != 0)
      fail("connecting to the node (is it on this machine, in this network namespace?)");
    if (send(connection_.get(), &memory.key, sizeof memory.key, MSG_NOSIGNAL) < 0)
      fail("sending the key");
    const File file = receive_file(connection_.get());
    struct stat status {};
    if (fstat(file.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) < size_)
      throw TransportError("mapped: the node's memory is smaller than its field 'bytes' says");
    memory_.emplace(file.get(), size_);
  }

  bool post(const Read& read) override {
    if (waiting_bytes_ >= kMostWaitingBytes) return false;
    const std::size_t bytes = read.header.size() + read.data.size();
    if (read.offset > size_ || bytes > size_ - read.offset)
      throw TransportError("mapped: a read beyond the node's memory");
    if (!memory_->copy(read.offset, read.header) ||
        !memory_->copy(read.offset + read.header.size(), read.data))
      throw TransportError("mapped: the node's memory file was cut short");
    waiting_.push_back(read.context);
    waiting_bytes_ += bytes;
    return true;
  }

  std::size_t poll(std::span<Completion> out) override {
    const std::size_t count = std::min(out.size(), waiting_.size());
    for (std::size_t i = 0; i < count; ++i) out[i] = {waiting_[i], true};
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    if (waiting_.empty()) waiting_bytes_ = 0;
    return count;
  }

  [[nodiscard]] int wait_file() override { return -1; }
  [[nodiscard]] std::size_t in_flight() const override { return waiting_.size(); }
  [[nodiscard]] TransportKind kind() const override { return TransportKind::mapped; }

 private:
  const std::uint64_t size_;
  std::optional<MappedMemory> memory_;
  File connection_;
  std::deque<std::uint64_t> waiting_;  // contexts of copies that poll() has not reported yet
  std::size_t waiting_bytes_ = 0;
};

}  // namespace

std::unique_ptr<NodeReader> read_by_mapping(const RemoteMemory& memory) {
  return std::make_unique<MappedReader>(memory);
}

}  // namespace tributary::pool
