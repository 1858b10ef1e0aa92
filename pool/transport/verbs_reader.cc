// RC READ from nodes: queue pairs by librdmacm, targets registered with every device in use.
//
// A queue pair ends with the reader's permit. The node's device is then silent, and the reader
// learns it twice: by the connection manager's message, which may be lost, and by reads that have
// been tried often enough.
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "pool/transport/file.h"
#include "pool/transport/verbs.h"
#include "pool/transport/verbs_region.h"

namespace tributary::pool {
namespace {

constexpr int kConnectMs = 5000;
constexpr std::uint32_t kMostReadsInFlight = 256;
// The most READs that a queue pair has outstanding on the wire; devices allow 16 to 128.
constexpr int kMostOutstanding = 16;
// The kernel's soft RoCE tries for ever where 7, the largest number, is asked for.
constexpr int kTriesOfRead = 6;

class Registered : public RegisteredBuffer {
 public:
  Registered(std::shared_ptr<Registry> registry, const DeviceBuffer& memory, bool host)
      : registry_(std::move(registry)), at_(registry_->add(memory, host)) {}
  ~Registered() override { registry_->remove(at_); }

 private:
  std::shared_ptr<Registry> registry_;
  Registry::Place at_;
};

class VerbsReader : public NodeReader {
 public:
  VerbsReader(std::shared_ptr<Registry> registry, const RemoteMemory& memory)
      : registry_(std::move(registry)), memory_(memory), channel_(rdma_create_event_channel()) {
    if (!channel_) fail_verbs("verbs: event channel");
    rdma_cm_id* id = nullptr;
    if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0)
      fail_verbs("verbs: rdma_create_id");
    id_.reset(id);
    sockaddr_storage address{};
    if (memory.address.size() > sizeof address + sizeof ticket_ ||
        memory.address.size() < sizeof(sockaddr_in) + sizeof ticket_)
      throw TransportError("verbs: the node's field 'address' means nothing here");
    const std::size_t length = memory.address.size() - sizeof ticket_;
    std::memcpy(&address, memory.address.data(), length);
    std::memcpy(&ticket_, memory.address.data() + length, sizeof ticket_);
    if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&address), kConnectMs) != 0)
      fail_verbs("verbs: resolving the node's address");
    expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(id, kConnectMs) != 0) fail_verbs("verbs: resolving the route");
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
    connect();
  }
  ~VerbsReader() override { rdma_disconnect(id_.get()); }

  bool post(const Read& read) override {
    if (in_flight_ == most_in_flight_) return false;
    std::array<ibv_sge, 2> parts{};
    parts[0] = part_of(read.header);
    if (!read.data.empty()) parts[1] = part_of(read.data);
    ibv_send_wr work{};
    work.wr_id = read.context;
    work.sg_list = parts.data();
    work.num_sge = read.data.empty() ? 1 : 2;
    work.opcode = IBV_WR_RDMA_READ;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.rdma.remote_addr = memory_.base + read.offset;
    work.wr.rdma.rkey = static_cast<std::uint32_t>(memory_.key);
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(id_->qp, &work, &bad); error != 0) {
      errno = error;
      fail_verbs("verbs: read");
    }
    ++in_flight_;
    return true;
  }

  std::size_t poll(std::span<Completion> out) override {
    take_events();
    std::array<ibv_wc, 64> works{};
    const int got = ibv_poll_cq(completions_.get(),
                                static_cast<int>(std::min(out.size(), works.size())), works.data());
    if (got < 0) fail_verbs("verbs: completions");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      out[i] = {works[i].wr_id, works[i].status == IBV_WC_SUCCESS};
    in_flight_ -= static_cast<std::uint32_t>(got);
    return static_cast<std::size_t>(got);
  }

  // A completion between the last poll() and the arming raises no event. So the first call arms,
  // and returns that poll() must be called again.
  [[nodiscard]] int wait_file() override {
    if (armed_) return waits_.get();
    if (ibv_req_notify_cq(completions_.get(), 0) != 0) fail_verbs("verbs: arming completions");
    armed_ = true;
    return -1;
  }
  [[nodiscard]] std::size_t in_flight() const override { return in_flight_; }
  [[nodiscard]] TransportKind kind() const override { return TransportKind::verbs; }
  [[nodiscard]] bool reaches(std::span<const std::byte> device) const override {
    return registry_->reaches(domain_, device);
  }

 private:
  void connect() {
    domain_ = registry_->domain_of(id_->verbs);
    ibv_device_attr device{};
    if (ibv_query_device(id_->verbs, &device) != 0) fail_verbs("verbs: device");
    most_in_flight_ = std::min<std::uint32_t>(
        kMostReadsInFlight, static_cast<std::uint32_t>(std::min(device.max_qp_wr, device.max_cqe)));
    notices_.reset(ibv_create_comp_channel(id_->verbs));
    if (!notices_) fail_verbs("verbs: completion channel");
    completions_.reset(
        ibv_create_cq(id_->verbs, static_cast<int>(most_in_flight_), nullptr, notices_.get(), 0));
    if (!completions_) fail_verbs("verbs: completion queue");
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions_.get();
    attributes.cap = {most_in_flight_, 1, 2, 1, 0};
    attributes.qp_type = IBV_QPT_RC;
    if (rdma_create_qp(id_.get(), domain_, &attributes) != 0) fail_verbs("verbs: queue pair");
    rdma_conn_param asked{};
    asked.initiator_depth =
        static_cast<std::uint8_t>(std::clamp(device.max_qp_init_rd_atom, 1, kMostOutstanding));
    asked.private_data = ticket_.data();
    asked.private_data_len = sizeof ticket_;
    asked.retry_count = kTriesOfRead;
    asked.rnr_retry_count = 7;
    if (rdma_connect(id_.get(), &asked) != 0) fail_verbs("verbs: connecting to the node");
    expect(RDMA_CM_EVENT_ESTABLISHED);
    watch(notices_->fd);
    watch(channel_->fd);
  }

  void watch(int file) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = file;
    if (epoll_ctl(waits_.get(), EPOLL_CTL_ADD, file, &event) != 0) fail_verbs("verbs: epoll");
  }

  // Throws once the connection has ended.
  void take_events() {
    if (!armed_) return;
    std::array<epoll_event, 2> ready{};
    const int count = epoll_wait(waits_.get(), ready.data(), ready.size(), 0);
    for (int i = 0; i < count; ++i) {
      if (ready[i].data.fd == notices_->fd)
        take_notice();
      else
        throw TransportError("verbs: the node has ended the connection");
    }
  }

  void take_notice() {
    ibv_cq* queue = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(notices_.get(), &queue, &context) != 0) return;
    ibv_ack_cq_events(queue, 1);
    armed_ = false;
  }

  void expect(rdma_cm_event_type wanted) {
    pollfd fd{channel_->fd, POLLIN, 0};
    if (::poll(&fd, 1, kConnectMs) <= 0) throw TransportError("verbs: the node does not answer");
    rdma_cm_event* event = nullptr;
    if (rdma_get_cm_event(channel_.get(), &event) != 0) fail_verbs("verbs: event");
    const auto kind = event->event;
    rdma_ack_cm_event(event);
    if (kind != wanted) throw TransportError(std::string("verbs: ") + rdma_event_str(kind));
  }

  [[nodiscard]] ibv_sge part_of(std::span<std::byte> part) const {
    return {reinterpret_cast<std::uintptr_t>(part.data()), static_cast<std::uint32_t>(part.size()),
            registry_->key_of(domain_, part)};
  }

  std::shared_ptr<Registry> registry_;
  RemoteMemory memory_;
  Ticket ticket_{};
  EventChannel channel_;
  VerbsPtr<ibv_comp_channel> notices_;
  File waits_{epoll_create1(EPOLL_CLOEXEC)};  // readable where one of the two above is
  bool armed_ = false;                        // the next completion raises an event
  VerbsPtr<ibv_cq> completions_;
  CmId id_;  // after the queue, which its queue pair uses
  ibv_pd* domain_ = nullptr;
  std::uint32_t most_in_flight_ = 0;
  std::uint32_t in_flight_ = 0;
};

class VerbsDomain : public ReadDomain {
 public:
  std::unique_ptr<NodeReader> connect(const RemoteMemory& memory) override {
    return std::make_unique<VerbsReader>(registry_, memory);
  }
  std::unique_ptr<RegisteredBuffer> register_buffer(std::span<std::byte> buffer) override {
    return std::make_unique<Registered>(registry_, DeviceBuffer{buffer}, true);
  }
  std::unique_ptr<RegisteredBuffer> register_device(const DeviceBuffer& memory) override {
    return std::make_unique<Registered>(registry_, memory, false);
  }

 private:
  std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();
};

}  // namespace

std::unique_ptr<ReadDomain> make_verbs_domain() {
  return std::make_unique<VerbsDomain>();
}

}  // namespace tributary::pool
