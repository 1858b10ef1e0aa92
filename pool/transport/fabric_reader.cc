// Reads one node over libfabric, with its own endpoint: closing it ends all reads.
#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "pool/transport/fabric.h"

namespace tributary::pool {
namespace {

// More in flight gain nothing, and a node's queue is limited, too.
constexpr std::size_t kMostInFlight = 128;

// libfabric reads an address without knowing its length.
bool is_address(TransportKind kind, std::span<const std::byte> address) {
  if (kind == TransportKind::shm)
    return std::find(address.begin(), address.end(), std::byte{0}) != address.end();
  sockaddr head{};
  if (address.size() < sizeof head) return false;
  std::memcpy(&head, address.data(), sizeof head);
  return (head.sa_family == AF_INET && address.size() >= sizeof(sockaddr_in)) ||
         (head.sa_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6));
}

class FabricReader : public NodeReader {
 public:
  explicit FabricReader(const RemoteMemory& memory)
      : memory_(memory),
        endpoint_(memory.transport, "", memory.transport == TransportKind::tcp),
        reads_(kMostInFlight) {
    if (!is_address(memory.transport, memory.address) ||
        fi_av_insert(endpoint_.addresses.get(), memory.address.data(), 1, &node_, 0, nullptr) != 1)
      throw TransportError(std::string(name_of(memory.transport)) +
                           ": the node's field 'address' means nothing here");
    for (std::size_t i = kMostInFlight; i-- > 0;) free_.push_back(i);
    if (memory.transport == TransportKind::tcp)
      check_fabric(fi_control(&endpoint_.completions->fid, FI_GETWAIT, &wait_file_),
                   "tcp: file of the completions");
  }

  bool post(const Read& read) override {
    if (free_.empty()) return false;
    Slot& slot = reads_[free_.back()];
    slot.user = read.context;
    const std::array<iovec, 2> parts = {iovec{read.header.data(), read.header.size()},
                                        iovec{read.data.data(), read.data.size()}};
    const ssize_t result =
        fi_readv(endpoint_.endpoint.get(), parts.data(), nullptr, read.data.empty() ? 1 : 2, node_,
                 memory_.base + read.offset, memory_.key, &slot.context);
    if (result == -FI_EAGAIN) return false;
    check_fabric(static_cast<int>(result), std::string(name_of(memory_.transport)) + ": read");
    free_.pop_back();
    return true;
  }

  std::size_t poll(std::span<Completion> out) override {
    std::array<fi_cq_entry, 64> entries{};
    const std::size_t most = std::min(out.size(), entries.size());
    const ssize_t got = fi_cq_read(endpoint_.completions.get(), entries.data(), most);
    if (got == -FI_EAGAIN) return 0;
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(endpoint_.completions.get(), &error, 0) < 1) return 0;
      if (error.op_context == nullptr || !is_slot(error.op_context))
        throw TransportError(std::string(name_of(memory_.transport)) + ": " +
                             fi_strerror(error.err));
      out[0] = finish(error.op_context, false);
      return 1;
    }
    check_fabric(static_cast<int>(got), std::string(name_of(memory_.transport)) + ": completions");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      out[i] = finish(entries[i].op_context, true);
    return static_cast<std::size_t>(got);
  }

  [[nodiscard]] int wait_file() override {
    if (wait_file_ < 0) return -1;
    fid* const queue = &endpoint_.completions->fid;
    fid* queues[] = {queue};
    return fi_trywait(endpoint_.fabric.get(), queues, 1) == FI_SUCCESS ? wait_file_ : -1;
  }
  [[nodiscard]] std::size_t in_flight() const override { return kMostInFlight - free_.size(); }
  [[nodiscard]] TransportKind kind() const override { return memory_.transport; }

 private:
  struct Slot {
    fi_context2 context{};  // libfabric's, while the read is in flight
    std::uint64_t user = 0;
  };

  bool is_slot(const void* context) const {
    const auto* const at = static_cast<const Slot*>(context);
    return at >= reads_.data() && at < reads_.data() + reads_.size();
  }
  // `context` points to a slot's first member.
  Completion finish(void* context, bool good) {
    Slot* const slot = static_cast<Slot*>(context);
    free_.push_back(static_cast<std::size_t>(slot - reads_.data()));
    return {slot->user, good};
  }

  RemoteMemory memory_;
  FabricEndpoint endpoint_;
  fi_addr_t node_ = FI_ADDR_UNSPEC;
  int wait_file_ = -1;  // the queue's; shm has none
  std::vector<Slot> reads_;
  std::vector<std::size_t> free_;
};

}  // namespace

std::unique_ptr<NodeReader> read_by_fabric(const RemoteMemory& memory) {
  return std::make_unique<FabricReader>(memory);
}

}  // namespace tributary::pool
