#include "sim/node/worker_node.h"

#include <algorithm>
#include <cstring>

#include "config/model/switch_config.h"
#include "core/wire/ecn.h"
#include "core/wire/integrity.h"
#include "sim/node/world.h"
#include "worker/transport/packet_check.h"

namespace tributary::sim {
namespace {

constexpr Duration kBackOffMax = Duration::ms(50);
// A transport that had no room is asked again after this long.
constexpr Duration kSendRetry = Duration::us(200);
constexpr std::uint16_t kFirstUdpPort = 20'000;
constexpr std::uint16_t kStrayOffset = 100;

}  // namespace

WorkerNode::WorkerNode(std::string name, const WorkerOptions& options, WorkerObserver& observer,
                       worker::SendBatch& batch)
    : Node(std::move(name)),
      options_(options),
      observer_(observer),
      random_(options.seed),
      batch_(batch) {}

void WorkerNode::start(Instant now) {
  if (end_ == WorkerEnd::not_yet) begin_session(now);
}

void WorkerNode::crash() {
  session_.reset();
  open_.clear();
}

void WorkerNode::begin_session(Instant now) {
  const JobScenario& job = *options_.job;
  ++incarnation_;
  worker::SessionOptions o;
  o.job = job.id;
  o.rank = options_.rank;
  o.size = job.workers;
  o.plane = job.plane;
  o.nonce = salt_ = random_.next();
  o.join_timeout = job.join_timeout;
  o.op_timeout = job.op_timeout;
  o.loss_group = job.loss_group;
  o.max_datagram_bytes = 9000;
  o.switch_name = "switch";
  session_ = std::make_unique<worker::Session>(o, now);
  // A new socket often gets another port, but ports come back.
  udp_port_ = static_cast<std::uint16_t>(kFirstUdpPort + random_.below(2));
  session_began_ = turn_began_ = now;
  session_began_world_ = world().now();
  entered_ = failure_seen_ = completed_ = false;
  was_joining_ = true;
  next_op_ = 0;
  open_.clear();
  held_.reset(job.shards, options_.first_seq);
  think_until_ = Instant();
  retry_send_at_ = next_session_at_ = Instant::max();
}

void WorkerNode::move(std::uint32_t switch_ipv4, std::uint16_t port) {
  options_.switch_ipv4 = switch_ipv4;
  options_.switch_mac = config::derived_mac(switch_ipv4);
  options_.port = port;
}

void WorkerNode::on_frame(std::uint16_t port, const FrameRef& frame, Instant now) {
  if (session_ == nullptr || port != options_.port) return;
  receive(frame, now);
  advance(now);
}

void WorkerNode::on_wake(Instant now) {
  if (now >= next_session_at_) begin_session(now);
  if (session_ != nullptr) advance(now);
}

Instant WorkerNode::next_wakeup() const {
  if (session_ == nullptr) return next_session_at_;
  if (retry_send_at_ != Instant::max()) return retry_send_at_;
  Instant at = session_->next_wakeup();
  if (session_->state() == worker::SessionState::running && next_op_ < options_.job->ops &&
      open_.size() < options_.job->depth)
    at = std::min(at, think_until_);
  return at;
}

// Everything that can be done at this instant, until nothing is left to do.
void WorkerNode::advance(Instant now) {
  for (bool again = true; again && session_ != nullptr;) {
    const auto before = session_->state();
    if (before == worker::SessionState::running && !entered_) {
      entered_ = true;
      was_joining_ = false;
      turn_began_ = now;
      observer_.on_epoch_entered(*this);
    }
    collect(now);
    submit(now);
    again = pump(now);
    collect(now);
    close_failed(now);
    again = again || session_->state() != before;
    if (session_->state() != worker::SessionState::left) continue;
    count_events();
    session_.reset();
    open_.clear();
    if (completed_) {
      end_ = WorkerEnd::done;
    } else if (was_joining_ && world().now() >= options_.tree_settled) {
      end_ = WorkerEnd::gave_up;
    } else {
      next_session_at_ =
          now + Duration::ns(random_.below(static_cast<std::uint32_t>(kBackOffMax.to_ns())));
    }
  }
}

void WorkerNode::count_events() {
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (const auto n = session_->counters().drops.get(reason); n != 0)
      observer_.on_worker_drop(reason, n);
  }
  observer_.on_floats_at_once(session_->counters().floats_at_once.get());
  observer_.on_window_decreases(session_->counters().window_decreases.get());
}

void WorkerNode::collect(Instant now) {
  while (worker::Op* op = session_->take_finished()) {
    const auto found =
        std::find_if(open_.begin(), open_.end(), [op](const auto& o) { return &o->op == op; });
    if (found == open_.begin()) turn_began_ = now;
    const auto finished = std::move(*found);
    open_.erase(found);
    if (op->failure)
      observer_.on_op_failed(*this, finished->index, finished->plan, *op->failure);
    else
      observer_.on_op_done(*this, finished->index, finished->plan,
                           {options_.rank, finished->data, finished->output, op->left_out,
                            op->elements_per_chunk, op->chunks_per_part});
    if (const Duration most = options_.job->think_max; most > Duration())
      think_until_ = now + Duration::ns(random_.below(static_cast<std::uint32_t>(most.to_ns())));
  }
}

void WorkerNode::submit(Instant now) {
  const JobScenario& job = *options_.job;
  if (session_->state() != worker::SessionState::running) return;
  while (next_op_ < job.ops && open_.size() < job.depth && now >= think_until_) {
    auto next = std::make_unique<OpenOp>();
    next->index = next_op_++;
    next->plan = plan_op(job, options_.workload_seed, next->index);
    if (job.disagree && options_.rank == 0 && incarnation_ == 1 && next->index == job.ops / 2)
      next->plan = another_op(next->plan);
    fill_op(*next);
    if (open_.empty()) turn_began_ = now;
    worker::Op& op = next->op;
    observer_.on_op_called(*this, next->index, next->plan);
    open_.push_back(std::move(next));
    session_->submit(op, now);
  }
  if (next_op_ < job.ops || !open_.empty()) return;
  completed_ = true;
  leave_began_ = now;
  session_->leave(now);
}

// One that nobody can take for `plan`.
OpPlan WorkerNode::another_op(const OpPlan& plan) {
  OpPlan other;
  other.count = plan.count + 1;
  return other;
}

void WorkerNode::fill_op(OpenOp& open) const {
  const std::size_t size = wire::size_of(open.plan.dtype);
  const std::uint32_t ranks = options_.job->workers;
  open.data.resize(open.plan.inputs(ranks) * size);
  open.output.resize(open.plan.outputs(ranks) * size);
  fill(open.plan, salt_, open.index, open.data);
  // As the library does: first values are one rank's.
  if (open.plan.collective == wire::Collective::open && open.plan.root != options_.rank)
    std::fill(open.data.begin(), open.data.end(), std::byte{0});
  worker::Op& op = open.op;
  op.data = open.data.data();
  op.output = open.output.data();
  op.count = open.plan.count;
  op.dtype = open.plan.dtype;
  op.reduce_op = open.plan.reduce_op;
  op.collective = open.plan.collective;
  op.root = open.plan.root;
  op.array = open.plan.array;
  if (!open.plan.scales()) return;
  op.dtype = wire::DType::int32;
  op.cut(options_.rank, ranks, session_->start_info());
  const std::span values(reinterpret_cast<float*>(open.data.data()), open.plan.count);
  open.scaled =
      std::make_unique<worker::BlockScaled>(values, ranks, op.elements_per_chunk, kScaleExponent);
  op.scaled = open.scaled.get();
}

void WorkerNode::close_failed(Instant now) {
  if (session_->state() != worker::SessionState::failed || failure_seen_) return;
  failure_seen_ = true;
  observer_.on_session_failed(*this, *session_->failure());
  leave_began_ = now;
  session_->leave(now);
}

// True when it should be called again at once.
bool WorkerNode::pump(Instant now) {
  retry_send_at_ = Instant::max();
  session_->poll(now, batch_);
  const auto datagrams = batch_.datagrams();
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    const FrameRef frame = frame_of(datagrams[i]);
    // A full queue is the transport's "no room"; a link that is down takes frames to nowhere.
    if (world().send(id(), options_.port, frame) == SendResult::queue_full) {
      session_->rejected(batch_, i);
      retry_send_at_ = now + kSendRetry;
      return false;
    }
    if (batch_.tag(i).type == wire::PacketType::contribution)
      observer_.on_contribution(*this, frame);
  }
  return batch_.full();
}

void WorkerNode::send_extra(const FrameRef& frame) {
  world().send(id(), options_.port, frame);
}

FrameRef WorkerNode::frame_of(const worker::Datagram& d) {
  FrameRef frame = world().frames().take();
  if (!d.payload.empty()) {
    const auto carried = static_cast<std::uint32_t>(d.payload.size());
    const std::uint32_t data = carried * options_.job->payload_scale();
    frame.writable().data_bytes = data;
    frame.writable().absent_bytes = data - carried;
  }
  auto& bytes = frame.writable().bytes;
  const std::size_t packet = d.head.size() + d.payload.size();
  bytes.resize(wire::kUdpPayloadOffset + packet);
  std::memcpy(bytes.data() + wire::kUdpPayloadOffset, d.head.data(), d.head.size());
  if (!d.payload.empty())
    std::memcpy(bytes.data() + wire::kUdpPayloadOffset + d.head.size(), d.payload.data(),
                d.payload.size());
  wire::FrameTemplate t;
  t.destination = options_.switch_mac;
  t.source = options_.mac;
  const bool strays = entered_ && options_.stray_ppm != 0 && world().now() < options_.heal_at &&
                      random_.chance_ppm(options_.stray_ppm);
  const auto port = static_cast<std::uint16_t>(udp_port_ + (strays ? kStrayOffset : 0));
  t.endpoints = {options_.ipv4, options_.switch_ipv4, port,
                 static_cast<std::uint16_t>(options_.udp_base_port + d.port)};
  // A job with CRC32C can do without the UDP checksum, once the rank knows that it is one.
  t.dscp_ecn = wire::kEct0;
  t.udp_checksum = options_.job->integrity == wire::Integrity::udp_checksum || !entered_;
  wire::write_frame_headers(t, bytes, packet);
  return frame;
}

bool WorkerNode::for_me(const wire::EthernetView& ethernet, const wire::Udp4View& udp) const {
  const JobScenario& job = *options_.job;
  const std::uint32_t group = config::job_group_ipv4(job.id);
  const wire::UdpEndpoints& to = udp.endpoints;
  const bool to_group = ethernet.destination == wire::multicast_mac(group);
  const bool from_host = to_group && entered_ && to.source_ip != 0 &&
                         to.source_ip == worker::direct_host(session_->start_info());
  if (to.source_ip != options_.switch_ipv4 && !from_host) return false;
  if (ethernet.destination == options_.mac) {
    const bool own = to.destination_port == udp_port_ ||
                     (options_.stray_ppm != 0 && to.destination_port == udp_port_ + kStrayOffset);
    return to.destination_ip == options_.ipv4 && own;
  }
  return entered_ && to_group && to.destination_ip == group &&
         to.destination_port >= options_.udp_base_port &&
         (to.destination_port - options_.udp_base_port) / job.shards == job.plane;
}

// The network card, the kernel's UDP, and the transport's checks.
void WorkerNode::receive(const FrameRef& frame, Instant now) {
  const auto ethernet = wire::parse_ethernet(frame.bytes());
  const auto* eth = std::get_if<wire::EthernetView>(&ethernet);
  if (eth == nullptr) return drop(std::get<DropReason>(ethernet));
  if (eth->destination != options_.mac && !wire::is_multicast(eth->destination)) return;
  if (eth->ether_type != wire::kEtherTypeIpv4) return;
  const auto ip = wire::parse_udp4(eth->payload);
  if (const auto* bad = std::get_if<DropReason>(&ip)) return drop(*bad);
  const auto& udp = std::get<std::optional<wire::Udp4View>>(ip);
  if (!udp || !for_me(*eth, *udp)) return;
  if (udp->checksum != 0 && !wire::udp4_checksum_ok(*udp)) return drop(DropReason::checksum);
  auto parsed = wire::parse(udp->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return drop(*bad);
  auto& packet = std::get<wire::Packet>(parsed);
  packet.congestion_experienced = udp->congestion_experienced;
  if (const DropReason bad = wire::check_integrity(*udp, packet); bad != DropReason::none)
    return drop(bad);
  if (udp->endpoints.source_ip != options_.switch_ipv4 &&
      !worker::is_direct_result(session_->start_info(), packet))
    return drop(DropReason::stale_term);

  const std::uint64_t results = session_->counters().results.get();
  session_->on_packet(packet, now);
  if (session_->counters().results.get() == results) return;
  held_.add(packet.header.shard, packet.header.seq);
  observer_.on_result_taken(*this, packet.header.shard);
}

std::string WorkerNode::waiting_for(Instant now) const {
  if (end_ == WorkerEnd::done) return "is done";
  if (end_ == WorkerEnd::gave_up) return "gave up";
  if (end_ == WorkerEnd::dead) return "is dead";
  if (session_ == nullptr) return "waits to join anew";
  const auto lasts = [&](Instant since) {
    return std::to_string((now - since).to_ns() / 1'000'000) + " ms";
  };
  switch (session_->state()) {
    case worker::SessionState::joining: return "joins since " + lasts(session_began_);
    case worker::SessionState::running:
      if (open_.empty()) return "thinks before op " + std::to_string(next_op_);
      return "waits for op " + std::to_string(open_.front()->index) + " of epoch " +
             std::to_string(session_->epoch()) + " since " + lasts(turn_began_);
    case worker::SessionState::leaving: return "leaves since " + lasts(leave_began_);
    case worker::SessionState::failed:
    case worker::SessionState::left: break;
  }
  return "failed";
}

}  // namespace tributary::sim
