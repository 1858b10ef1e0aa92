#include "worker/rdma/rdma_transport.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/wire/ecn.h"
#include "worker/transport/memif_address.h"
#include "worker/transport/packet_check.h"

namespace tributary::worker {
namespace {

constexpr std::size_t kCacheLine = 64;
// The IPv4 header stands in the second half of the room for a global route header.
constexpr std::size_t kIpv4At = 20;
constexpr std::size_t kTosAt = kIpv4At + 1;
constexpr std::size_t kSourceAt = kIpv4At + 12;
constexpr std::uint8_t kEcnBits = 3;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::uint32_t source_of(const std::byte* route) {
  std::uint32_t ipv4 = 0;
  for (std::size_t i = 0; i < 4; ++i)
    ipv4 = ipv4 << 8 | std::to_integer<std::uint32_t>(route[kSourceAt + i]);
  return ipv4;
}

}  // namespace

RdmaTransport::RdmaTransport(const UdTarget& target, const Patience& patience,
                             const VerbsLibrary& verbs)
    : target_(target),
      ud_(target, kDepths, patience, verbs),
      slot_bytes_(rounded(wire::kGrhBytes + ud_.path_mtu())),
      memory_(std::make_unique<std::byte[]>((kDepths.sends + kDepths.receives) * slot_bytes_)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  const std::size_t bytes = (kDepths.sends + kDepths.receives) * slot_bytes_;
  registered_ = verbs.ibv_reg_mr_(ud_.domain(), memory_.get(), bytes, IBV_ACCESS_LOCAL_WRITE);
  if (registered_ == nullptr || !wake_)
    throw std::system_error(errno, std::generic_category(),
                            "rdma transport: cannot register " + std::to_string(bytes) +
                                " bytes; raise the limit of locked memory (ulimit -l)");
  for (std::uint32_t slot = 0; slot < kDepths.sends; ++slot) free_.push_back(slot);
  for (std::size_t slot = 0; slot < kDepths.receives; ++slot) post_receive(slot);
}

RdmaTransport::~RdmaTransport() {
  if (registered_ != nullptr) ud_.library().ibv_dereg_mr_(registered_);
}

// Results come to the queue pair: there is no group to join, and buffers are there already.
void RdmaTransport::on_start(const wire::StartInfo&) {}

void RdmaTransport::post_receive(std::size_t slot) {
  ibv_sge room{.addr = reinterpret_cast<std::uintptr_t>(receive_slot(slot)),
               .length = static_cast<std::uint32_t>(slot_bytes_),
               .lkey = registered_->lkey};
  ibv_recv_wr request{};
  request.wr_id = slot;
  request.sg_list = &room;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  ibv_post_recv(ud_.queue_pair(), &request, &bad);
}

void RdmaTransport::free_slots() {
  std::array<ibv_wc, kBurst> done;
  for (int got = 0;
       (got = ibv_poll_cq(ud_.sends(), static_cast<int>(done.size()), done.data())) > 0;)
    for (int i = 0; i < got; ++i) {
      if (done[i].status != IBV_WC_SUCCESS) note_error(done[i], "send");
      free_.push_back(static_cast<std::uint32_t>(done[i].wr_id));
    }
}

// The first one says why; those that follow are flushed for it.
void RdmaTransport::note_error(const ibv_wc& completion, const char* what) {
  if (!failure_.empty()) return;
  failure_ = "rdma transport: queue pair " + std::to_string(ud_.queue_pair()->qp_num) + " of " +
             ud_.device() + " is in error: a " + what + " ended with " +
             ud_.library().ibv_wc_status_str_(completion.status) + " (work completion status " +
             std::to_string(completion.status) + ", vendor error " +
             std::to_string(completion.vendor_err) + "); create the communicator anew";
}

bool RdmaTransport::post(const Datagram& d) {
  const std::uint32_t slot = free_.back();
  std::byte* const at = send_slot(slot) + wire::kRoceLeadBytes;  // zero since the start
  std::memcpy(at, d.head.data(), d.head.size());
  if (!d.payload.empty()) std::memcpy(at + d.head.size(), d.payload.data(), d.payload.size());
  ibv_sge bytes{
      .addr = reinterpret_cast<std::uintptr_t>(send_slot(slot)),
      .length = static_cast<std::uint32_t>(wire::kRoceLeadBytes + d.head.size() + d.payload.size()),
      .lkey = registered_->lkey};
  ibv_send_wr request{};
  request.wr_id = slot;
  request.sg_list = &bytes;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.ud.ah = ud_.address();
  request.wr.ud.remote_qpn = ud_.remote_qpn();
  request.wr.ud.remote_qkey = ud_.remote_qkey();
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(ud_.queue_pair(), &request, &bad) != 0) return false;
  free_.pop_back();
  return true;
}

std::size_t RdmaTransport::send(std::span<const Datagram> batch) {
  if (free_.size() < batch.size()) free_slots();
  std::size_t sent = 0;
  for (const Datagram& d : batch) {
    if (d.head.size() + d.payload.size() > max_datagram_bytes())
      drops_.add(DropReason::mtu);
    else if (free_.empty() || !post(d))
      break;
    ++sent;
  }
  send_blocked_ = sent < batch.size();
  return sent;
}

std::size_t RdmaTransport::receive(const Receiver& receiver) {
  std::array<ibv_wc, kBurst> done;
  std::size_t received = ready_.size();
  for (const ibv_wc& completion : ready_) deliver(completion, receiver);
  ready_.clear();
  const int got = ibv_poll_cq(ud_.receives(), static_cast<int>(done.size()), done.data());
  for (int i = 0; i < got; ++i) deliver(done[i], receiver);
  return received + static_cast<std::size_t>(std::max(got, 0));
}

void RdmaTransport::deliver(const ibv_wc& completion, const Receiver& receiver) {
  const std::size_t slot = completion.wr_id;
  const std::byte* const route = receive_slot(slot);
  const auto refuse = [&](DropReason reason) {
    drops_.add(reason);
    post_receive(slot);
  };
  if (completion.status != IBV_WC_SUCCESS) {
    // Flushed for one that may be a send, and says more.
    if (completion.status == IBV_WC_WR_FLUSH_ERR && failure_.empty()) free_slots();
    return note_error(completion, "receive");
  }
  if (completion.byte_len < wire::kGrhBytes) return refuse(DropReason::roce_malformed);
  if (completion.src_qp != ud_.remote_qpn() || source_of(route) != target_.ipv4)
    return refuse(DropReason::sender_mismatch);
  const auto bytes =
      wire::packet_in_send({route + wire::kGrhBytes, completion.byte_len - wire::kGrhBytes});
  wire::Packet packet;
  DropReason bad = wire::parse(bytes, packet);
  if (bad == DropReason::none) bad = check_crc32c(bytes, packet, false);
  if (bad != DropReason::none) return refuse(bad);
  packet.congestion_experienced =
      (std::to_integer<unsigned>(route[kTosAt]) & kEcnBits) == wire::kCongestionExperienced;
  receiver(packet);
  post_receive(slot);
}

// A completion between polling and arming makes no event: the queue is looked at once more.
bool RdmaTransport::arm() {
  ibv_req_notify_cq(ud_.receives(), 0);
  if (send_blocked_) ibv_req_notify_cq(ud_.sends(), 0);
  ready_.resize(kBurst);
  const int got = ibv_poll_cq(ud_.receives(), static_cast<int>(kBurst), ready_.data());
  ready_.resize(static_cast<std::size_t>(std::max(got, 0)));
  free_slots();  // one that ended in error is seen though slots are left
  const bool can_send = send_blocked_ && !free_.empty();
  return ready_.empty() && !can_send;
}

void RdmaTransport::wait(Duration limit) {
  const VerbsLibrary& verbs = ud_.library();
  if (!ready_.empty() || !arm()) return;
  // Once, wherever it was found: the owner is to see it now, and need not turn for it later.
  if (!failure_.empty() && !std::exchange(has_woken_for_failure_, true)) return;
  std::array<pollfd, 2> fds = {{{.fd = ud_.events()->fd, .events = POLLIN, .revents = 0},
                                {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  const timespec pause{.tv_sec = limit.to_ns() / 1'000'000'000,
                       .tv_nsec = limit.to_ns() % 1'000'000'000};
  ::ppoll(fds.data(), fds.size(), &pause, nullptr);
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (verbs.ibv_get_cq_event_(ud_.events(), &cq, &context) == 0) verbs.ibv_ack_cq_events_(cq, 1);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto n = ::read(wake_.get(), &count, sizeof count);
}

void RdmaTransport::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = ::write(wake_.get(), &one, sizeof one);
}

std::string RdmaTransport::describe() const {
  return "rdma " + ud_.device() + " queue pair " + std::to_string(ud_.queue_pair()->qp_num) +
         " to switch " + ipv4_text(target_.ipv4) + " queue pair " +
         std::to_string(ud_.remote_qpn()) + ", datagrams up to " + std::to_string(ud_.path_mtu()) +
         " bytes";
}

}  // namespace tributary::worker
