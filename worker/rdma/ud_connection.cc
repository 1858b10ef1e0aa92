#include "worker/rdma/ud_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/net/sidr.h"

namespace tributary::worker {
namespace {

// How often a caller that waits is asked whether it still wants to.
constexpr Duration kAsk = Duration::ms(50);
// The kernel's time for one attempt to resolve the switch's address.
constexpr Duration kResolve = Duration::seconds(2);
constexpr std::uint32_t kLeastMtu = 256;

int milliseconds(Duration duration) {
  return static_cast<int>(duration.to_ns() / 1'000'000);
}

[[noreturn]] void fail(const char* step) {
  throw std::system_error(errno, std::generic_category(), std::string("rdma transport: ") + step);
}

sockaddr_in ipv4_address(std::uint32_t ipv4, std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(ipv4);
  return a;
}

// In words, the status of a SIDR_REP.
std::string refusal(int status) {
  switch (static_cast<wire::SidrStatus>(status)) {
    case wire::SidrStatus::no_service:
      return "the switch has another udp_base_port than the address names";
    case wire::SidrStatus::rejected: return "the job does not have this rank";
    case wire::SidrStatus::no_queue_pair:
      return "the switch does not have the job, or the job has no `rdma: true`";
    default: return "no answer; does the switch's port have `rdma: true`?";
  }
}

}  // namespace

UdConnection::UdConnection(const UdTarget& target, const UdDepths& depths, const Patience& patience,
                           const VerbsLibrary& verbs)
    : verbs_(verbs) {
  try {
    resolve(target, patience);
    create(depths);
    learn_path_mtu();
    connect(target, patience);
  } catch (...) {
    release();
    throw;
  }
}

UdConnection::~UdConnection() {
  release();
}

void UdConnection::release() {
  if (address_ != nullptr) verbs_.ibv_destroy_ah_(address_);
  if (id_ != nullptr && id_->qp != nullptr) verbs_.rdma_destroy_qp_(id_);
  for (ibv_cq* const cq : {send_cq_, receive_cq_})
    if (cq != nullptr) verbs_.ibv_destroy_cq_(cq);
  if (completions_ != nullptr) verbs_.ibv_destroy_comp_channel_(completions_);
  if (id_ != nullptr) verbs_.rdma_destroy_id_(id_);
  if (channel_ != nullptr) verbs_.rdma_destroy_event_channel_(channel_);
}

rdma_cm_event* UdConnection::next_event(const char* step, const Patience& patience) {
  rdma_cm_event* event = nullptr;
  for (Duration waited; verbs_.rdma_get_cm_event_(channel_, &event) != 0; waited = waited + kAsk) {
    if (errno != EAGAIN) fail(step);
    if (patience.cancelled && patience.cancelled()) throw ConnectCancelled(step);
    if (waited >= patience.limit)
      throw std::runtime_error(std::string("rdma transport: ") + step + ": " + refusal(-1));
    pollfd ready{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, milliseconds(kAsk));
  }
  return event;
}

rdma_cm_event* UdConnection::await(rdma_cm_event_type wanted, const char* step,
                                   const Patience& patience) {
  rdma_cm_event* const event = next_event(step, patience);
  if (event->event == wanted) return event;
  const bool answered = event->event == RDMA_CM_EVENT_UNREACHABLE && event->status > 0;
  std::string text = std::string("rdma transport: ") + step + ": " +
                     verbs_.rdma_event_str_(event->event) + " (" + std::to_string(event->status) +
                     ")";
  if (answered) text += ": " + refusal(event->status);
  verbs_.rdma_ack_cm_event_(event);
  throw std::runtime_error(text);
}

void UdConnection::resolve(const UdTarget& target, const Patience& patience) {
  channel_ = verbs_.rdma_create_event_channel_();
  if (channel_ == nullptr) fail("no RDMA device, or no rights to use it");
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  if (verbs_.rdma_create_id_(channel_, &id_, nullptr, RDMA_PS_UDP) != 0) fail("no identifier");
  resolve_address(target, patience);
  if (verbs_.rdma_resolve_route_(id_, milliseconds(patience.limit)) != 0)
    fail("cannot resolve the route");
  verbs_.rdma_ack_cm_event_(await(RDMA_CM_EVENT_ROUTE_RESOLVED, "resolving the route", patience));
}

// The kernel asks the neighbour three times, and without an answer lies still until its time is
// over: it has little, and gets it again. A link that comes up late costs no more than that.
void UdConnection::resolve_address(const UdTarget& target, const Patience& patience) {
  constexpr const char* kStep = "resolving the switch's address";
  sockaddr_in to = ipv4_address(target.ipv4, target.port);
  for (Duration spent;; spent = spent + kResolve) {
    if (verbs_.rdma_resolve_addr_(id_, nullptr, reinterpret_cast<sockaddr*>(&to),
                                  milliseconds(std::min(kResolve, patience.limit))) != 0)
      fail("cannot resolve the switch's address");
    rdma_cm_event* const event = next_event(kStep, patience);
    const rdma_cm_event_type kind = event->event;
    verbs_.rdma_ack_cm_event_(event);
    if (kind == RDMA_CM_EVENT_ADDR_RESOLVED) return;
    if (spent + kResolve >= patience.limit)
      throw std::runtime_error(std::string("rdma transport: ") + kStep + ": " + refusal(-1));
  }
}

void UdConnection::create(const UdDepths& depths) {
  completions_ = verbs_.ibv_create_comp_channel_(id_->verbs);
  if (completions_ == nullptr) fail("no completion channel");
  ::fcntl(completions_->fd, F_SETFL, ::fcntl(completions_->fd, F_GETFL) | O_NONBLOCK);
  const auto queue = [&](std::uint32_t depth) {
    ibv_cq* const cq =
        verbs_.ibv_create_cq_(id_->verbs, static_cast<int>(depth), nullptr, completions_, 0);
    if (cq == nullptr) fail("no completion queue");
    return cq;
  };
  send_cq_ = queue(depths.sends);
  receive_cq_ = queue(depths.receives);
  ibv_qp_init_attr attributes{};
  attributes.send_cq = send_cq_;
  attributes.recv_cq = receive_cq_;
  attributes.cap.max_send_wr = depths.sends;
  attributes.cap.max_recv_wr = depths.receives;
  attributes.cap.max_send_sge = 1;
  attributes.cap.max_recv_sge = 1;
  attributes.qp_type = IBV_QPT_UD;
  if (verbs_.rdma_create_qp_(id_, nullptr, &attributes) != 0) fail("no queue pair");
}

void UdConnection::connect(const UdTarget& target, const Patience& patience) {
  const auto place = wire::write_rank_request({target.job, target.rank});
  rdma_conn_param parameters{};
  parameters.private_data = place.data();
  parameters.private_data_len = static_cast<std::uint8_t>(place.size());
  if (verbs_.rdma_connect_(id_, &parameters) != 0) fail("cannot ask the switch");
  rdma_cm_event* const event = await(RDMA_CM_EVENT_ESTABLISHED,
                                     "asking the switch for its queue "
                                     "pair",
                                     patience);
  remote_qpn_ = event->param.ud.qp_num;
  remote_qkey_ = event->param.ud.qkey;
  address_ = verbs_.ibv_create_ah_(id_->pd, &event->param.ud.ah_attr);
  verbs_.rdma_ack_cm_event_(event);
  if (address_ == nullptr) fail("no address handle");
}

void UdConnection::learn_path_mtu() {
  ibv_port_attr attributes{};
  auto* const older = reinterpret_cast<_compat_ibv_port_attr*>(&attributes);
  if (verbs_.ibv_query_port_(id_->verbs, id_->port_num, older) != 0) fail("no port attributes");
  path_mtu_ = kLeastMtu << (std::max<int>(attributes.active_mtu, IBV_MTU_256) - IBV_MTU_256);
}

std::string UdConnection::device() const {
  return id_->verbs->device->name;
}

}  // namespace tributary::worker
