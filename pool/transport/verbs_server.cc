// A node's memory for RC READ: registered once for each tenant; a thread only accepts loaders.
//
// Tenants have protection domains of their own, so that the key of one means nothing to the queue
// pairs of another. A loader is accepted by its permit's ticket, and its queue pair ends with the
// permit. Each registration has page tables of its own in the device.
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

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

Ticket draw_ticket() {
  Ticket ticket;
  if (getrandom(ticket.data(), ticket.size(), 0) != static_cast<ssize_t>(ticket.size()))
    fail_verbs("verbs: random numbers");
  return ticket;
}

// The request's private data may be longer than what its sender gave.
std::optional<Ticket> ticket_of(const rdma_conn_param& request) {
  Ticket ticket;
  if (request.private_data == nullptr || request.private_data_len < ticket.size())
    return std::nullopt;
  std::memcpy(ticket.data(), request.private_data, ticket.size());
  return ticket;
}

class VerbsServer : public MemoryServer {
 public:
  VerbsServer(const std::string& host, const LocalMemory& memory)
      : channel_(rdma_create_event_channel()), stop_fd_(eventfd(0, EFD_CLOEXEC)) {
    if (!channel_ || stop_fd_ < 0) fail_verbs("verbs: event channel");
    listener_ = bound_id(channel_.get(), host);
    for (const std::string& tenant : memory.tenants) register_for(tenant, memory.bytes);
    if (ibv_query_device(listener_->verbs, &device_) != 0) fail_verbs("verbs: device");
    if (rdma_listen(listener_.get(), 64) != 0) fail_verbs("verbs: listening at " + host);
    const sockaddr* const own = rdma_get_local_addr(listener_.get());
    const std::size_t length =
        own->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    memory_.transport = TransportKind::verbs;
    memory_.address.resize(length);
    std::memcpy(memory_.address.data(), own, length);
    memory_.base = reinterpret_cast<std::uintptr_t>(memory.bytes.data());
    memory_.bytes = memory.bytes.size();
    thread_ = std::thread([this] { serve(); });
  }
  ~VerbsServer() override {
    const std::uint64_t one = 1;
    static_cast<void>(!write(stop_fd_, &one, sizeof one));
    thread_.join();
    permits_.clear();
    listener_.reset();
    close(stop_fd_);
  }

  [[nodiscard]] TransportKind kind() const override { return TransportKind::verbs; }

  std::unique_ptr<ReadPermit> admit(const std::string& tenant) override {
    const auto found = tenants_.find(tenant);
    if (found == tenants_.end()) throw TransportError("verbs: no tenant '" + tenant + "'");
    const Ticket ticket = draw_ticket();
    RemoteMemory memory = memory_;
    memory.address.insert(memory.address.end(), ticket.begin(), ticket.end());
    memory.key = found->second.region->rkey;
    const std::lock_guard lock(mutex_);
    permits_.emplace(ticket, Admitted{&found->second, {}, {}});
    return std::make_unique<Permit>(*this, ticket, std::move(memory));
  }

 private:
  // A queue pair reads by keys of its own domain alone.
  struct Tenant {
    VerbsPtr<ibv_pd> domain;
    VerbsPtr<ibv_mr> region;
  };
  struct Admitted {
    const Tenant* tenant;
    VerbsPtr<ibv_cq> completions;
    CmId id;  // last: its queue pair uses the queue; null: not connected
  };
  class Permit : public ReadPermit {
   public:
    Permit(VerbsServer& server, const Ticket& ticket, RemoteMemory memory)
        : server_(server), ticket_(ticket), memory_(std::move(memory)) {}
    ~Permit() override { server_.end(ticket_); }
    [[nodiscard]] const RemoteMemory& memory() const override { return memory_; }

   private:
    VerbsServer& server_;
    const Ticket ticket_;
    const RemoteMemory memory_;
  };

  void register_for(const std::string& name, std::span<std::byte> memory) {
    Tenant tenant;
    tenant.domain.reset(ibv_alloc_pd(listener_->verbs));
    if (!tenant.domain) fail_verbs("verbs: protection domain");
    constexpr int kRemoteAccess =
        IBV_ACCESS_REMOTE_READ;  // an int: the macro adds another enumeration's
    tenant.region.reset(
        ibv_reg_mr(tenant.domain.get(), memory.data(), memory.size(), kRemoteAccess));
    if (!tenant.region)
      fail_verbs("verbs: registering " + std::to_string(memory.size()) +
                 " bytes (is the limit on locked memory high enough?)");
    tenants_.emplace(name, std::move(tenant));
  }

  // The queue pair, if there is one, is gone when it returns.
  void end(const Ticket& ticket) {
    const std::lock_guard lock(mutex_);
    permits_.erase(ticket);
  }

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
      const int depth = event->param.conn.initiator_depth;
      const auto ticket =
          kind == RDMA_CM_EVENT_CONNECT_REQUEST ? ticket_of(event->param.conn) : std::nullopt;
      rdma_ack_cm_event(event);  // an id with an unacknowledged event cannot be destroyed
      if (kind == RDMA_CM_EVENT_CONNECT_REQUEST)
        accept(CmId(id), depth, ticket);
      else if (kind == RDMA_CM_EVENT_DISCONNECTED || kind == RDMA_CM_EVENT_CONNECT_ERROR ||
               kind == RDMA_CM_EVENT_UNREACHABLE || kind == RDMA_CM_EVENT_TIMEWAIT_EXIT)
        disconnect(id);
    }
  }

  void disconnect(const rdma_cm_id* id) {
    const std::lock_guard lock(mutex_);
    for (auto& [ticket, admitted] : permits_)
      if (admitted.id.get() == id) admitted.id.reset();
  }

  // A permit has one connection: a later one replaces it.
  void accept(CmId id, int depth, const std::optional<Ticket>& ticket) {
    const std::lock_guard lock(mutex_);
    const auto found = ticket ? permits_.find(*ticket) : permits_.end();
    if (found == permits_.end()) return static_cast<void>(rdma_reject(id.get(), nullptr, 0));
    Admitted& admitted = found->second;
    admitted.id.reset();
    admitted.completions.reset(ibv_create_cq(id->verbs, 1, nullptr, nullptr, 0));
    if (!admitted.completions) return static_cast<void>(rdma_reject(id.get(), nullptr, 0));
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = admitted.completions.get();
    attributes.cap = {1, 1, 1, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    if (rdma_create_qp(id.get(), admitted.tenant->domain.get(), &attributes) != 0)
      return static_cast<void>(rdma_reject(id.get(), nullptr, 0));
    admitted.id = std::move(id);
    rdma_conn_param answer{};
    answer.responder_resources =
        static_cast<std::uint8_t>(std::clamp<int>(depth, 1, device_.max_qp_rd_atom));
    answer.rnr_retry_count = 7;
    if (rdma_accept(admitted.id.get(), &answer) != 0) admitted.id.reset();
  }

  EventChannel channel_;
  int stop_fd_;
  CmId listener_;
  std::map<std::string, Tenant> tenants_;  // not changed after the start
  ibv_device_attr device_{};
  RemoteMemory memory_;  // without ticket and key
  std::mutex mutex_;     // of permits_
  std::map<Ticket, Admitted> permits_;
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

std::unique_ptr<MemoryServer> serve_by_verbs(const std::string& host, const LocalMemory& memory) {
  return std::make_unique<VerbsServer>(host, memory);
}

}  // namespace tributary::pool
