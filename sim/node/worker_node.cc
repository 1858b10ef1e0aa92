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
      phases_(*options.job, options.rank),
      observer_(observer),
      random_(options.seed),
      batch_(batch) {
  if (options.job->named_bytes != 0)
    names_.emplace(*options.job, options.rank, options.workload_seed);
}

void WorkerNode::start(Instant now) {
  if (!phases_.first()) end_ = WorkerEnd::done;  // the job never has so many ranks
  if (end_ == WorkerEnd::not_yet) begin_session(now);
}

void WorkerNode::crash() {
  session_.reset();
  if (names_) names_->reset();
  open_.clear();
}

void WorkerNode::begin_session(Instant now) {
  ++incarnation_;
  phases_.enter(*phases_.first());
  salt_ = random_.next();
  // A new socket often gets another port, but ports come back.
  udp_port_ = static_cast<std::uint16_t>(kFirstUdpPort + random_.below(2));
  failure_seen_ = completed_ = has_left_ = false;
  was_joining_ = true;
  next_op_ = first_op_ = phases_.first_op();
  resumed_from_.reset();
  open_.clear();
  times_.think_until = Instant();
  if (names_) names_->reset();
  open_session(salt_, {}, now);
}

void WorkerNode::open_session(std::uint64_t nonce, const wire::Resumption& from, Instant now) {
  worker::SessionOptions o;
  o.job = job().id;
  o.rank = options_.rank;
  o.size = job().workers;
  o.plane = job().plane;
  o.join_timeout = job().join_timeout;
  o.op_timeout = job().op_timeout;
  o.loss_group = job().loss_group;
  o.max_datagram_bytes = 9000;
  o.switch_name = "switch";
  o.nonce = nonce;
  o.resumes = from;
  session_ = std::make_unique<worker::Session>(o, now);
  times_.session_began = times_.turn_began = now;
  times_.session_began_world = world().now();
  entered_ = false;
  held_.reset(options_.job->shards, options_.first_seq);
  times_.retry_send_at = times_.next_session_at = Instant::max();
}

// As the library does it (worker/api/progress.cc), but that the ranks know the number of ranks
// without a vote.
void WorkerNode::go_on(const wire::Resumption& from, Instant now) {
  if (next_op_ == phases_.end() && !phases_.is_last()) {
    if (!phases_.go_on()) {
      completed_ = has_left_ = true;
      times_.leave_began = now;
      return session_->leave_drained(now);
    }
    was_joining_ = true;  // newcomers may never come, and then it gives up as at the beginning
  }
  resume(from, now);
}

void WorkerNode::resume(const wire::Resumption& from, Instant now) {
  const std::uint64_t nonce = random_.next();
  resumed_from_ = session_->epoch();
  first_op_ += from.op;
  count_events();
  open_session(nonce, from, now);
}

// The application has an op, and the session may take it.
bool WorkerNode::may_call() const {
  return session_->state() == worker::SessionState::running && next_op_ < phases_.end() &&
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
  if (now >= times_.next_session_at) begin_session(now);
  if (session_ != nullptr) advance(now);
}

Instant WorkerNode::next_wakeup() const {
  if (session_ == nullptr) return times_.next_session_at;
  if (times_.retry_send_at != Instant::max()) return times_.retry_send_at;
  Instant at = session_->next_wakeup();
  if (names_) at = std::min(at, names_->client().next_wakeup());
  if (may_call()) at = std::min(at, times_.think_until);
  return at;
}

// Everything that can be done at this instant, until nothing is left to do.
void WorkerNode::advance(Instant now) {
  for (bool again = true; again && session_ != nullptr;) {
    const auto before = session_->state();
    if (before == worker::SessionState::running && !entered_) {
      entered_ = true;
      was_joining_ = false;
      times_.turn_began = now;
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
    if (completed_ && !(has_left_ && phases_.first())) {
      end_ = WorkerEnd::done;
    } else if (!has_left_ && was_joining_ && world().now() >= options_.tree_settled) {
      end_ = WorkerEnd::gave_up;
    } else {
      times_.next_session_at =
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
    if (found == open_.begin()) times_.turn_began = now;
    const auto finished = std::move(*found);
    open_.erase(found);
    if (op->failure)
      observer_.on_op_failed(*this, finished->index, finished->plan, *op->failure);
    else
      observer_.on_op_done(*this, finished->index, finished->plan,
                           {options_.rank, finished->data, finished->output, op->left_out,
                            op->elements_per_chunk, op->chunks_per_part});
    if (names_ && !op->failure)
      for (const NamedCall& named : names_->start_calls(finished->index, random_, now))
        observer_.on_named_call(*this, named);
    if (const Duration most = options_.job->think_max; most > Duration())
      times_.think_until =
          now + Duration::ns(random_.below(static_cast<std::uint32_t>(most.to_ns())));
  }
}

void WorkerNode::submit(Instant now) {
  if (session_->state() != worker::SessionState::running) return;
  while (may_call() && now >= times_.think_until) {
    const std::uint32_t index = next_op_++;
    OpPlan plan = plan_op(job(), options_.workload_seed, index);
    if (job().disagree && options_.rank == 0 && incarnation_ == 1 && index == job().ops / 2)
      plan = another_op(plan);
    auto next = std::make_unique<OpenOp>(plan, index, options_.rank, job().workers, salt_,
                                         session_->start_info());
    if (open_.empty()) times_.turn_began = now;
    worker::Op& op = next->op;
    observer_.on_op_called(*this, next->index, next->plan);
    open_.push_back(std::move(next));
    session_->submit(op, now);
  }
  if (next_op_ < phases_.end() || !open_.empty() || (names_ && names_->busy())) return;
  if (!phases_.is_last()) return session_->want_drain();
  completed_ = true;
  times_.leave_began = now;
  session_->leave(now);
}

void WorkerNode::close_failed(Instant now) {
  if (session_->state() != worker::SessionState::failed || failure_seen_) return;
  failure_seen_ = true;
  observer_.on_session_failed(*this, *session_->failure());
  times_.leave_began = now;
  session_->leave(now);
}

// True when it should be called again at once.
bool WorkerNode::pump(Instant now) {
  times_.retry_send_at = Instant::max();
  session_->poll(now, batch_);
  const auto datagrams = batch_.datagrams();
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    const FrameRef frame = frame_with(datagrams[i]);
    // A full queue is the transport's "no room"; a link that is down takes frames to nowhere.
    if (world().send(id(), options_.port, frame) == SendResult::queue_full) {
      session_->rejected(batch_, i);
      times_.retry_send_at = now + kSendRetry;
      return false;
    }
    if (batch_.tag(i).type == wire::PacketType::contribution)
      observer_.on_contribution(*this, frame);
  }
  return batch_.full();
}

// A full queue loses them; timers send them again.
void WorkerNode::pump_names(Instant now) {
  do {
    names_->client().poll(now, names_->batch());
    for (const worker::Datagram& datagram : names_->batch().datagrams())
      world().send(id(), options_.port, frame_with(datagram));
  } while (names_->batch().full());
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
  if (const auto* bad = std::get_if<DropReason>(&got)) return observer_.on_worker_drop(*bad, 1);
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
    case worker::SessionState::joining: return "joins since " + lasts(times_.session_began);
    case worker::SessionState::running:
      if (open_.empty()) return "thinks before op " + std::to_string(next_op_);
      return "waits for op " + std::to_string(open_.front()->index) + " of epoch " +
             std::to_string(session_->epoch()) + " since " + lasts(times_.turn_began);
    case worker::SessionState::leaving: return "leaves since " + lasts(times_.leave_began);
    case worker::SessionState::failed:
    case worker::SessionState::left: break;
  }
  return "failed";
}

}  // namespace tributary::sim
