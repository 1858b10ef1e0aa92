#include "sim/node/worker_node.h"

#include <algorithm>

#include "config/model/switch_config.h"
#include "sim/node/world.h"

namespace tributary::sim {
namespace {

constexpr Duration kBackOffMax = Duration::ms(50);
// A transport that had no room is asked again after this long.
constexpr Duration kSendRetry = Duration::us(200);
constexpr std::uint16_t kFirstUdpPort = 20'000;

}  // namespace

WorkerNode::WorkerNode(std::string name, const WorkerOptions& options, WorkerObserver& observer,
                       worker::SendBatch& batch)
    : Node(std::move(name)),
      options_(options),
      job_(*options.job),
      observer_(observer),
      random_(options.seed),
      batch_(batch) {
  if (options.job->named_bytes == 0) return;
  names_.emplace(*options.job, options.rank, options.workload_seed);
  names_batch_ = std::make_unique<worker::NameBatch>();
}

void WorkerNode::start(Instant now) {
  if (!first_phase()) end_ = WorkerEnd::done;  // the job never has so many ranks
  if (end_ == WorkerEnd::not_yet) begin_session(now);
}

// The first in which the job has this rank.
std::optional<std::size_t> WorkerNode::first_phase() const {
  const auto& resizes = options_.job->resizes;
  if (resizes.empty()) return 0;
  for (std::size_t i = phases_done_; i < resizes.size() && resizes[i].op < options_.job->ops; ++i)
    if (options_.rank < resizes[i].workers) return i;
  return std::nullopt;
}

void WorkerNode::enter_phase(std::size_t resize) {
  const auto& resizes = options_.job->resizes;
  phase_ = resize;
  phase_end_ = options_.job->ops;
  if (resizes.empty()) return;
  job_.workers = resizes[phase_].workers;
  if (phase_ + 1 < resizes.size()) phase_end_ = std::min(phase_end_, resizes[phase_ + 1].op);
}

void WorkerNode::crash() {
  session_.reset();
  if (names_) names_->reset();
  open_.clear();
}

worker::SessionOptions WorkerNode::session_options() const {
  const JobScenario& job = job_;
  worker::SessionOptions o;
  o.job = job.id;
  o.rank = options_.rank;
  o.size = job.workers;
  o.plane = job.plane;
  o.join_timeout = job.join_timeout;
  o.op_timeout = job.op_timeout;
  o.loss_group = job.loss_group;
  o.max_datagram_bytes = 9000;
  o.switch_name = "switch";
  return o;
}

void WorkerNode::begin_session(Instant now) {
  ++incarnation_;
  enter_phase(*first_phase());
  worker::SessionOptions o = session_options();
  o.nonce = salt_ = random_.next();
  // A new socket often gets another port, but ports come back.
  udp_port_ = static_cast<std::uint16_t>(kFirstUdpPort + random_.below(2));
  failure_seen_ = completed_ = has_left_ = false;
  was_joining_ = true;
  next_op_ = first_op_ = options_.job->resizes.empty() ? 0 : options_.job->resizes[phase_].op;
  resumed_from_.reset();
  open_.clear();
  think_until_ = Instant();
  if (names_) names_->reset();
  open_session(o, now);
}

void WorkerNode::open_session(const worker::SessionOptions& options, Instant now) {
  session_ = std::make_unique<worker::Session>(options, now);
  session_began_ = turn_began_ = now;
  session_began_world_ = world().now();
  entered_ = false;
  held_.reset(options_.job->shards, options_.first_seq);
  retry_send_at_ = next_session_at_ = Instant::max();
}

// As the library does it (worker/api/progress.cc), but that the ranks know the number of ranks
// without a vote.
void WorkerNode::go_on(const wire::Resumption& from, Instant now) {
  if (next_op_ == phase_end_ && phase_end_ < options_.job->ops) {
    enter_phase(phase_ + 1);
    if (options_.rank >= job_.workers) {
      completed_ = has_left_ = true;
      phases_done_ = phase_;
      leave_began_ = now;
      return session_->leave_drained(now);
    }
    was_joining_ = true;  // newcomers may never come, and then it gives up as at the beginning
  }
  resume(from, now);
}

void WorkerNode::resume(const wire::Resumption& from, Instant now) {
  worker::SessionOptions o = session_options();
  o.nonce = random_.next();
  o.resumes = from;
  resumed_from_ = session_->epoch();
  first_op_ += from.op;
  count_events();
  open_session(o, now);
}

// The application has an op, and the session may take it.
bool WorkerNode::may_call() const {
  return session_->state() == worker::SessionState::running && next_op_ < phase_end_ &&
         open_.size() < options_.job->depth && next_op_ - first_op_ < session_->op_limit();
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
  if (names_) at = std::min(at, names_->client().next_wakeup());
  if (may_call()) at = std::min(at, think_until_);
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
      if (names_) names_->identify(*session_);
      observer_.on_epoch_entered(*this);
    }
    collect(now);
    submit(now);
    again = pump(now);
    if (names_) pump_names(now);
    collect(now);
    if (const auto drained = session_->drained(); drained && !completed_) go_on(*drained, now);
    close_failed(now);
    again = again || session_->state() != before;
    if (session_->state() != worker::SessionState::left) continue;
    count_events();
    session_.reset();
    open_.clear();
    if (completed_ && !(has_left_ && first_phase())) {
      end_ = WorkerEnd::done;
    } else if (!has_left_ && was_joining_ && world().now() >= options_.tree_settled) {
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
    if (names_ && !op->failure) start_named(finished->index, now);
    if (const Duration most = options_.job->think_max; most > Duration())
      think_until_ = now + Duration::ns(random_.below(static_cast<std::uint32_t>(most.to_ns())));
  }
}

void WorkerNode::submit(Instant now) {
  const JobScenario& job = job_;
  if (session_->state() != worker::SessionState::running) return;
  while (may_call() && now >= think_until_) {
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
  if (next_op_ < phase_end_ || !open_.empty() || (names_ && names_->busy())) return;
  if (phase_end_ < job.ops) return session_->want_drain();
  completed_ = true;
  leave_began_ = now;
  session_->leave(now);
}

// An op that no node can take for `plan`.
OpPlan WorkerNode::another_op(const OpPlan& plan) {
  OpPlan other;
  other.count = plan.count + 1;
  return other;
}

void WorkerNode::fill_op(OpenOp& open) const {
  const std::size_t size = wire::size_of(open.plan.dtype);
  const std::uint32_t ranks = job_.workers;
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
    const FrameRef frame = frame_with(datagrams[i]);
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

void WorkerNode::start_named(std::uint32_t index, Instant now) {
  for (const NamedCall& named : names_->start_calls(index, random_, now))
    observer_.on_named_call(*this, named);
}

// A full queue loses them; timers send them again.
void WorkerNode::pump_names(Instant now) {
  do {
    names_->client().poll(now, *names_batch_);
    for (const worker::Datagram& datagram : names_batch_->datagrams())
      world().send(id(), options_.port, frame_with(datagram));
  } while (names_batch_->full());
  for (const NamedCall& named : names_->take_finished()) observer_.on_named_end(*this, named);
  submit(now);
}

void WorkerNode::send_extra(const FrameRef& frame) {
  world().send(id(), options_.port, frame);
}

FrameRef WorkerNode::frame_with(const worker::Datagram& datagram) {
  const bool strays = entered_ && options_.stray_ppm != 0 && world().now() < options_.heal_at &&
                      random_.chance_ppm(options_.stray_ppm);
  return frame_of(card(), world().frames(), datagram, strays);
}

RankCard WorkerNode::card() const {
  return {options_, udp_port_, session_->start_info(), session_->host_udp_port(), entered_};
}

void WorkerNode::receive(const FrameRef& frame, Instant now) {
  observer_.on_heard(*this, frame);
  const auto got = packet_of(card(), frame);
  if (const auto* bad = std::get_if<DropReason>(&got)) return drop(*bad);
  const auto* const packet = std::get_if<wire::Packet>(&got);
  if (packet == nullptr) return;
  if (wire::concerns_name(packet->header.type)) {
    if (names_) names_->client().on_packet(*packet, now);
    return;
  }
  const std::uint64_t results = session_->counters().results.get();
  session_->on_packet(*packet, now);
  if (session_->counters().results.get() == results) return;
  held_.add(packet->header.shard, packet->header.seq);
  observer_.on_result_taken(*this, packet->header.shard);
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
