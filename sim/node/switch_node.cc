#include "sim/node/switch_node.h"

#include <algorithm>
#include <utility>

#include "config/plan/aggregation_memory.h"
#include "sim/node/switch_running.h"
#include "sim/node/world.h"

namespace tributary::sim {
namespace {

constexpr std::size_t kCaptured = 64;
constexpr std::size_t kLargestFrame = 9728;
// Epochs of two incarnations of a switch must not meet.
constexpr std::uint32_t kEpochsPerIncarnation = 4099;

}  // namespace

SwitchNode::SwitchNode(std::string name, SwitchOptions options, SwitchObserver& observer)
    : Node(std::move(name)),
      options_(std::move(options)),
      observer_(observer),
      identity_(dataplane::identity_of(options_.config)),
      ports_(options_.config.ports),
      turns_(options_.turn_max, options_.tick, options_.cost, options_.seed),
      held_(options_.held_frames, options_.config.ports.size(), options_.held_seed),
      scratch_(kLargestFrame) {}
SwitchNode::~SwitchNode() = default;

void SwitchNode::start(Instant now) {
  const auto epoch =
      static_cast<std::uint16_t>(options_.first_epoch + kEpochsPerIncarnation * incarnation_++);
  running_ = std::make_unique<Running>(options_, epoch, options_.seed ^ ~std::uint64_t{epoch});
  turns_.start(now);
}

void SwitchNode::crash() {
  observer_.on_switch_crash(*this);
  running_.reset();
  // It reads the newest configuration when it starts again.
  if (const auto drained = std::exchange(drain_, std::nullopt); drained && drained->next)
    take(*drained->next, drained->version, Instant());
  for (const std::uint16_t port : turns_.crash()) --ports_[port].received;
}

const aggregator::Engine* SwitchNode::engine() const {
  return running_ ? &running_->engine : nullptr;
}

const completion::Engine* SwitchNode::completion() const {
  return running_ ? &running_->host.engine() : nullptr;
}

const aggregator::NameEngine* SwitchNode::names() const {
  return running_ ? &running_->names : nullptr;
}

const completion::RemoteHosts* SwitchNode::remote_hosts() const {
  return running_ ? running_->host.remote() : nullptr;
}

const completion::SwitchHost* SwitchNode::hosted() const {
  return running_ && running_->hosted ? &*running_->hosted : nullptr;
}

std::optional<std::size_t> SwitchNode::place_of(std::uint32_t id) const {
  const auto& jobs = options_.config.jobs;
  for (std::size_t place = 0; place < jobs.size(); ++place)
    if (jobs[place].id == id) return place;
  return std::nullopt;
}

const config::JobConfig* SwitchNode::job(std::uint32_t id) const {
  const auto place = place_of(id);
  return place ? &options_.config.jobs[*place] : nullptr;
}

aggregator::ChunkState SwitchNode::chunk_state(std::uint32_t id, std::uint8_t shard,
                                               std::uint32_t seq) const {
  const auto place = place_of(id);
  if (!running_ || !place) return aggregator::ChunkState::unseen;
  return running_->engine.chunk_state(*place, shard, seq);
}

void SwitchNode::exclude(std::uint32_t job, std::uint32_t child, bool exclude, Instant now) {
  if (!running_) return;
  running_->engine.exclude(job, child, exclude, std::nullopt, running_->outbox);
  send_outbox(now);
}

void SwitchNode::place_host(std::uint32_t favoured, Instant now) {
  if (!running_) return;
  for (const config::JobConfig& job : options_.config.jobs) {
    completion::HostRanking ranking{job.id, {}};
    for (const std::string& host : job.completion_hosts)
      if (host != config::kRootHost) ranking.hosts.push_back({});
    const auto hosts = static_cast<std::uint32_t>(ranking.hosts.size());
    for (std::uint32_t i = 0; i < hosts; ++i) ranking.hosts[(favoured + i) % hosts] = {i, i == 0};
    running_->host.place_host(ranking, now, running_->outbox);
    running_->exchange(now);
  }
  send_outbox(now);
}

void SwitchNode::reload(const config::SwitchConfig& next, std::size_t version, Instant now,
                        Duration drain_for) {
  if (drain_) end_drain(now);
  if (!running_ || drain_for == Duration()) return take(next, version, now);
  drain_ = Draining{{}, now + drain_for, next, version};
  for (const config::JobConfig& job : options_.config.jobs)
    if (const config::JobConfig* const then = config::find_job(next, job.id);
        then != nullptr && *then != job)
      drain_->jobs.push_back(job.id);
  go_on_draining(now);
}

void SwitchNode::drain(Duration at_most, Instant now) {
  if (!running_ || drain_) return;
  drain_ = Draining{{}, now + at_most};
  for (const config::JobConfig& job : options_.config.jobs) drain_->jobs.push_back(job.id);
  go_on_draining(now);
}

void SwitchNode::go_on_draining(Instant now) {
  if (!drain_) return;
  running_->engine.drain(drain_->jobs, now, running_->outbox);
  send_outbox(now);
  if (running_->engine.draining(drain_->jobs).empty() || now >= drain_->until) end_drain(now);
}

void SwitchNode::end_drain(Instant now) {
  const Draining drained = *std::exchange(drain_, std::nullopt);
  if (drained.next) take(*drained.next, drained.version, now);
  running_->engine.release(drained.jobs);
}

void SwitchNode::take(const config::SwitchConfig& next, std::size_t version, Instant now) {
  turns_.clear_work();
  if (running_ && !config::difference(options_.config, next).empty())
    running_->apply(next, now, [&] { send_outbox(now); });
  options_.config = next;
  identity_ = dataplane::identity_of(next);
  version_ = version;
}

void SwitchNode::on_frame(std::uint16_t port, const FrameRef& frame, Instant now) {
  ++ports_[port].received;
  turns_.receive(port, frame, now);
}

Instant SwitchNode::next_wakeup() const {
  return turns_.next_wakeup();
}

void SwitchNode::on_wake(Instant now) {
  if (!turns_.begin(now)) return;
  handle_all(now);
  // A switch that had something to send polls again at once.
  while (running_->expire(now)) send_outbox(now);
  running_->names.expire(now);
  while (running_->hosted && running_->hosted->expire(now)) send_hosted(now);
  go_on_draining(now);
  running_->fdb.expire(now, 16);
  observer_.on_turn_end(*this, now);
  turns_.end(now);
}

// Sums may wait for the end of this, and of nothing else: deadlines, the tick, and whatever a
// mailbox would bring come between turns.
void SwitchNode::handle_all(Instant now) {
  while (const auto next = turns_.next()) {
    handle(next->port, next->frame, now);
    held_.end_frame(running_->engine);
  }
  held_.finish(running_->engine);
}

void SwitchNode::handle(std::uint16_t port, const FrameRef& frame, Instant now) {
  if (options_.capture) {
    captured_.push_back(frame);
    if (captured_.size() > kCaptured) captured_.pop_front();
  }
  auto what = dataplane::classify(identity_, frame.bytes(), true);
  judge_sender(port, what);
  if (what.reason != DropReason::bad_source_mac && what.reason != DropReason::own_address &&
      what.reason != DropReason::frame_truncated)
    running_->fdb.learn(what.ethernet.source, what.ethernet.vlan_tci.value_or(0) & 0x0FFF, port,
                        now);
  switch (what.action) {
    case dataplane::Action::aggregate:
      if (!held_.holds()) return aggregate(port, frame, what, now);
      return aggregate(port, frame, dataplane::classify(identity_, held_.keep(frame), true), now);
    case dataplane::Action::host:
      if (!held_.holds()) return host(port, frame, what, now);
      host(port, frame, dataplane::classify(identity_, held_.lend(frame), true), now);
      return held_.give_back();
    case dataplane::Action::forward: return forward(port, frame, what, now);
    case dataplane::Action::answer_arp:
    case dataplane::Action::answer_echo: return answer(port, frame, what);
    case dataplane::Action::lldp:           // its switches know their neighbours
    case dataplane::Action::probe:          // and the way to them
    case dataplane::Action::intercept_arp:  // and have no routers
    case dataplane::Action::reassemble:     // nothing is cut
    case dataplane::Action::rdma:           // and no rank comes by RDMA
    case dataplane::Action::answer_cm:
    case dataplane::Action::returned:  // its hosts send no ICMP
    case dataplane::Action::drop:
      observer_.on_refused(*this, frame, what.reason);
      return ports_.drop(port, what.reason);
  }
}

// As PacketLoop::judge_sender() does it.
void SwitchNode::judge_sender(std::uint16_t port, dataplane::Classified& what) const {
  if (what.action == dataplane::Action::drop || what.ethernet.destination == identity_.mac) return;
  const DropReason bad = running_->senders.judge(port, what.ethernet);
  if (bad == DropReason::none) return;
  what.action = dataplane::Action::drop;
  what.reason = bad;
}

bool SwitchNode::read(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
                      dataplane::Event& event) {
  DropReason bad = running_->udp.read(port, what, event);
  if (bad == DropReason::none) bad = dataplane::UdpFrontEnd::check(what, event);
  if (bad == DropReason::none) return true;
  observer_.on_refused(*this, frame, bad);
  ports_.drop(port, bad);
  return false;
}

void SwitchNode::host(std::uint16_t port, const FrameRef& frame, const dataplane::Classified& what,
                      Instant now) {
  dataplane::Event event;
  if (!read(port, frame, what, event)) return;
  held_.note_hosted();
  const DropReason reason = running_->hosted->on_packet(event.packet, event.from, now);
  if (reason != DropReason::none) {
    ++ports_[port].dropped;  // by reason with the servers' drops
    observer_.on_hosted_drop(*this, frame, reason);
  } else {
    ++ports_[port].consumed;
  }
  send_hosted(now);
}

// As Aggregation::send_hosted() does it.
void SwitchNode::send_hosted(Instant now) {
  running_->hosted->tell_here([&](const wire::Packet& packet) {
    running_->engine.on_hosted_result(packet, now, running_->outbox);
    send_outbox(now);
  });
  send(running_->hosted->outbox(), now);
}

void SwitchNode::aggregate(std::uint16_t port, const FrameRef& frame,
                           const dataplane::Classified& what, Instant now) {
  dataplane::Event event;
  if (!read(port, frame, what, event)) return;
  const wire::Packet& packet = event.packet;
  if (wire::concerns_name(packet.header.type)) return take_named(port, event, now);
  observer_.before_packet(*this, frame, packet);
  held_.begin_packet(port, running_->engine);
  const auto decision = running_->host.concerns(packet)
                            ? running_->host.on_packet(packet, event.from, now, running_->outbox)
                            : running_->engine.on_packet(packet, event.from, now, running_->outbox);
  running_->exchange(now);
  if (decision.reason != DropReason::none) {
    ports_.drop(port, decision.reason);
  } else {
    ++ports_[port].consumed;
  }
  const config::JobConfig* const job = this->job(packet.header.job);
  held_.note_packet(packet, decision, job == nullptr || config::holds_data(*job), running_->engine);
  observer_.on_decision(*this, frame, packet, decision);
  send_outbox(now);
}

// As Aggregation::decide_name() does it.
void SwitchNode::take_named(std::uint16_t port, const dataplane::Event& event, Instant now) {
  aggregator::Outbox& box = running_->names_outbox;
  const auto sender = running_->engine.name_sender(event.packet.header, event.from);
  const DropReason reason = running_->names.on_packet(event.packet, event.from, sender, now, box);
  for (std::size_t i = 0; i < box.items().size(); ++i)
    if (aggregator::Outgoing& message = box.item(i); message.to == aggregator::Outgoing::To::parent)
      running_->engine.address_up(message.header);
  if (reason != DropReason::none)
    ports_.drop(port, reason);
  else
    ++ports_[port].consumed;
  send(box, now);
}

void SwitchNode::forward(std::uint16_t port, const FrameRef& frame,
                         const dataplane::Classified& what, Instant now) {
  const auto& destination = what.ethernet.destination;
  if (!wire::is_multicast(destination)) {
    const std::uint16_t vlan = what.ethernet.vlan_tci.value_or(0) & 0x0FFF;
    if (const auto egress = running_->fdb.lookup(destination, vlan, now)) {
      if (*egress == port) return ports_.drop(port, DropReason::no_egress);
      ++ports_[port].forwarded;
      return transmit(*egress, frame);
    }
  }
  ++ports_[port].forwarded;
  for (std::uint16_t other = 0; other < ports_.tallies().size(); ++other)
    if (other != port) transmit(other, frame);
}

void SwitchNode::answer(std::uint16_t port, const FrameRef& frame,
                        const dataplane::Classified& what) {
  ++ports_[port].answered;
  FrameRef reply = world().frames().copy(frame);
  auto& bytes = reply.writable().bytes;
  const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(bytes));
  if (what.action == dataplane::Action::answer_arp)
    dataplane::answer_arp(identity_, bytes, view);
  else
    dataplane::answer_echo(bytes, view);
  transmit(port, reply);
}

void SwitchNode::send_outbox(Instant now) {
  send(running_->outbox, now);
}

void SwitchNode::send(aggregator::Outbox& box, Instant now) {
  bool own = false;
  for (const aggregator::Outgoing& message : box.items()) {
    if (message.to == aggregator::Outgoing::To::job_group) {
      const auto copies =
          running_->udp.copies(message, running_->engine.members(message.header.job));
      if (!copies.empty()) observer_.on_message(*this, message);
      for (const auto& copy : copies) send_copy(message, copy);
      continue;
    }
    if (message.to == aggregator::Outgoing::To::parent) {
      if (running_->hosted && running_->hosted->take_own(message, now)) {
        running_->engine.on_sum_taken(message.header, now);
        own = true;
        continue;
      }
      observer_.on_message(*this, message);
      send_through(*running_->engine.uplink(message.header.job), message);
      continue;
    }
    const std::uint16_t port = message.peer.port();
    if (message.to == aggregator::Outgoing::To::hosted_root) {
      send_through(port, message);
      continue;
    }
    if (message.to != aggregator::Outgoing::To::peer) continue;  // heard by the completion engine
    if (message.header.type == wire::PacketType::nack && !running_->refusals[port].take(now)) {
      ports_.drop_answer(DropReason::reply_limit);
      continue;
    }
    observer_.on_message(*this, message);
    send_through(port, message);
  }
  box.clear();
  if (own) send_hosted(now);
}

void SwitchNode::send_through(std::uint16_t port, const aggregator::Outgoing& message) {
  send_copy(message, dataplane::UdpFrontEnd::copy_to(std::span(&port, 1)));
}

void SwitchNode::send_copy(const aggregator::Outgoing& message,
                           const dataplane::UdpFrontEnd::Copy& copy) {
  FrameRef ref = world().frames().take();
  Frame& frame = ref.writable();
  const std::size_t bytes = running_->udp.write(message, copy, scratch_).bytes;
  frame.bytes.assign(scratch_.begin(), scratch_.begin() + static_cast<long>(bytes));
  if (!message.payload.empty()) {
    const auto carried = static_cast<std::uint32_t>(message.payload.size());
    frame.data_bytes = carried * options_.payload_scale.at(message.header.job);
    frame.absent_bytes = frame.data_bytes - carried;
  }
  for (const std::uint16_t port : copy.ports) transmit(port, ref);
}

void SwitchNode::transmit(std::uint16_t port, const FrameRef& frame) {
  turns_.spend(options_.cost.per_copy);
  if (ports_.fits(port, frame))
    ports_.count_sent(port, world().send(id(), port, frame, turns_.into_turn()));
}

std::string SwitchNode::waiting_for(Instant now) const {
  if (!running_) return "is down";
  std::string text;
  for (const auto& slot : running_->engine.slot_status(now, 8)) {
    text += "job " + std::to_string(slot.job) + " shard " + std::to_string(slot.shard) + " seq " +
            std::to_string(slot.seq) + " lacks ranks";
    for (const auto rank : slot.missing) text.append(" ").append(std::to_string(rank));
    text += "; ";
  }
  return text.empty() ? "holds no slot" : text;
}

}  // namespace tributary::sim
