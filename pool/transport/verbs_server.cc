// A node's memory for RC READ: registered once; a thread only accepts loaders.
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>
#include <thread>

#include "pool/transport/verbs.h"

namespace tributary::pool {
namespace {

struct AddressFree {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};

CmId bound_id(rdma_event_channel* channel, const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0)
    throw TransportError("verbs: '" + host + "' is no address");
  const std::unique_ptr<addrinfo, AddressFree> address(found);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) != 0) fail_verbs("verbs: rdma_create_id");
  CmId made(id);
  if (rdma_bind_addr(id, address->ai_addr) != 0) fail_verbs("verbs: no device at " + host);
  if (id->verbs == nullptr) throw TransportError("verbs: no device at " + host);
  return made;
}

class VerbsServer : public MemoryServer {
 public:
  VerbsServer(const std::string& host, std::span<std::byte> memory)
      : channel_(rdma_create_event_channel()), stop_fd_(eventfd(0, EFD_CLOEXEC)) {
    if (!channel_ || stop_fd_ < 0) fail_verbs("verbs: event channel");
    listener_ = bound_id(channel_.get(), host);
    domain_.reset(ibv_alloc_pd(listener_->verbs));
    if (!domain_) fail_verbs("verbs: protection domain");
    constexpr int kRemoteAccess =
        IBV_ACCESS_REMOTE_READ;  // an int: the macro adds another enumeration's
    region_.reset(ibv_reg_mr(domain_.get(), memory.data(), memory.size(), kRemoteAccess));
    if (!region_)
      fail_verbs("verbs: registering " + std::to_string(memory.size()) +
                 " bytes (is the limit on locked memory high enough?)");
    if (ibv_query_device(listener_->verbs, &device_) != 0) fail_verbs("verbs: device");
    if (rdma_listen(listener_.get(), 64) != 0) fail_verbs("verbs: listening at " + host);
    const sockaddr* const own = rdma_get_local_addr(listener_.get());
    const std::size_t length =
        own->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    memory_.transport = TransportKind::verbs;
    memory_.address.resize(length);
    std::memcpy(memory_.address.data(), own, length);
    memory_.base = reinterpret_cast<std::uintptr_t>(memory.data());
    memory_.bytes = memory.size();
    memory_.key = region_->rkey;
    thread_ = std::thread([this] { serve(); });
  }
  ~VerbsServer() override {
    const std::uint64_t one = 1;
    static_cast<void>(!write(stop_fd_, &one, sizeof one));
    thread_.join();
    readers_.clear();
    listener_.reset();
    close(stop_fd_);
  }

  [[nodiscard]] const RemoteMemory& memory() const override { return memory_; }

 private:
  void serve() {
    for (;;) {
      pollfd fds[2] = {{channel_->fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
      if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
      if (fds[1].revents != 0) return;
      if (fds[0].revents == 0) continue;
      rdma_cm_event* event = nullptr;
      if (rdma_get_cm_event(channel_.get(), &event) != 0) continue;
      const auto kind = event->event;
      rdma_cm_id* const id = event->id;
      const rdma_conn_param asked = event->param.conn;
      rdma_ack_cm_event(event);  // an id with an unacknowledged event cannot be destroyed
      if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
        accept(CmId(id), asked);
      else if (kind == RDMA_CM_EVENT_DISCONNECTED || kind == RDMA_CM_EVENT_CONNECT_ERROR ||
               kind == RDMA_CM_EVENT_UNREACHABLE || kind == RDMA_CM_EVENT_TIMEWAIT_EXIT)
        readers_.erase(id);
    }
  }

  void accept(CmId id, const rdma_conn_param& asked) {
    Reader reader;
    reader.completions.reset(ibv_create_cq(id->verbs, 1, nullptr, nullptr, 0));
    if (!reader.completions) return static_cast<void>(rdma_reject(id.get(), nullptr, 0));
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = reader.completions.get();
    attributes.cap = {1, 1, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    if (rdma_create_qp(id.get(), domain_.get(), &attributes) != 0)
      return static_cast<void>(rdma_reject(id.get(), nullptr, 0));
    rdma_conn_param answer{};
    answer.responder_resources = static_cast<std::uint8_t>(
        std::clamp<int>(asked.initiator_depth, 1, device_.max_qp_rd_atom));
    answer.rnr_retry_count = 7;
    if (rdma_accept(id.get(), &answer) != 0) return;
    reader.id = std::move(id);
    rdma_cm_id* const key = reader.id.get();
    readers_.emplace(key, std::move(reader));
  }

  struct Reader {
    VerbsPtr<ibv_cq> completions;
    CmId id;  // last: its queue pair uses the queue
  };
  EventChannel channel_;
  int stop_fd_;
  CmId listener_;
  VerbsPtr<ibv_pd> domain_;
  VerbsPtr<ibv_mr> region_;
  ibv_device_attr device_{};
  RemoteMemory memory_;
  std::map<rdma_cm_id*, Reader> readers_;  // used only by the thread
  std::thread thread_;
};

}  // namespace

void fail_verbs(const std::string& what) {
  throw TransportError(what + ": " + std::generic_category().message(errno));
}

bool verbs_has(const std::string& host) {
  try {
    const EventChannel channel(rdma_create_event_channel());
    return channel && bound_id(channel.get(), host)->verbs != nullptr;
  } catch (const TransportError&) {
    return false;
  }
}

std::unique_ptr<MemoryServer> serve_by_verbs(const std::string& host, std::span<std::byte> memory) {
  return std::make_unique<VerbsServer>(host, memory);
}

}  // namespace tributary::pool
