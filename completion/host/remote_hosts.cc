#include "completion/host/remote_hosts.h"

#include <algorithm>
#include <cstring>

#include "core/seq.h"
#include "core/wire/extension.h"

namespace tributary::completion {

using aggregator::Outbox;
using aggregator::Outgoing;
using aggregator::Verdict;
using wire::PacketType;

namespace {

// The interval of START until it is answered, and the interval of looks at the seats.
constexpr Duration kAskAgain = Duration::ms(5);
constexpr Duration kLookAgain = Duration::ms(1);
// Payloads that wait to be sent at once. Any beyond that is lost, like a packet.
constexpr std::size_t kMostCopies = 128;

std::optional<std::uint16_t> port_index(const config::SwitchConfig& config,
                                        const std::string& name) {
  for (std::size_t i = 0; i < config.ports.size(); ++i)
    if (config.ports[i].name == name) return static_cast<std::uint16_t>(i);
  return std::nullopt;
}

// At the job's root alone.
bool has_hosts_elsewhere(const config::JobConfig& job) {
  return !job.parent && std::ranges::any_of(job.completion_hosts, [](const std::string& name) {
    return name != config::kRootHost;
  });
}

std::unique_ptr<HostJob> make_job(const config::SwitchConfig& config, const config::JobConfig& job,
                                  std::uint64_t nonce) {
  auto made = std::make_unique<HostJob>();
  made->id = job.id;
  made->nonce = nonce;
  made->retries_floats = config::retries_floats(job);
  made->degrades = config::degrades(job);
  for (const std::string& name : job.completion_hosts) {
    made->root_is_last = name == config::kRootHost;
    for (const config::CompletionHost& host : config.completion.hosts) {
      if (host.name != name) continue;
      Host& added = made->hosts.emplace_back();
      added.name = host.name;
      added.ipv4 = host.ipv4;
      added.port = port_index(config, host.port);
      made->candidates.push_back({host.ipv4, host.hops, host.cost, std::nullopt, false});
    }
  }
  for (std::uint8_t shard = 0; shard < job.shards; ++shard) {
    Seat& seat = made->seats.emplace_back();
    seat.shard = shard;
  }
  made->choice = job.host_choice;
  made->notify = job.notify;
  made->order.resize(made->hosts.size());
  made->rank();
  return made;
}

wire::Header header_of(const HostJob& job, PacketType type) {
  wire::Header h;
  h.type = type;
  h.flags = wire::kFlagAtPs;
  h.job = job.id;
  return h;
}

// From which the host of shard 0 notifies ranks, its UDP port; 0: it has not been heard.
std::uint32_t flow_of_host(const HostJob& job) {
  const Host& host = job.hosts[job.seats.front().host];
  return host.known ? host.peer.flow() : 0;
}

bool holds_a_host(const Seat& seat) {
  return seat.state == SeatState::asking || seat.state == SeatState::serving;
}

}  // namespace

RemoteHosts::RemoteHosts(const config::SwitchConfig& config, aggregator::Engine& engine,
                         std::uint64_t nonce)
    : engine_(engine), lease_(config.completion.lease), by_id_(0) {
  apply(*prepare(config, nonce));
}

std::shared_ptr<RemoteHosts::Change> RemoteHosts::prepare(const config::SwitchConfig& next,
                                                          std::uint64_t nonce) const {
  auto change =
      std::make_shared<Change>(Change{{}, {}, aggregator::JobIndex<HostJob>(next.jobs.size()), {}});
  std::size_t largest = 0;
  for (const config::JobConfig& job : next.jobs) {
    if (!has_hosts_elsewhere(job)) continue;
    HostJob* const running = by_id_.find(job.id);
    const auto at = std::find_if(jobs_.begin(), jobs_.end(),
                                 [running](const auto& j) { return j.get() == running; });
    change->jobs.push_back(running == nullptr ? make_job(next, job, nonce) : nullptr);
    change->stays_from.push_back(static_cast<std::size_t>(at - jobs_.begin()));
    change->by_id.insert(job.id, running == nullptr ? change->jobs.back().get() : running);
    largest = std::max<std::size_t>(largest, job.chunk_bytes);
  }
  change->copies.resize(kMostCopies * largest);
  return change;
}

void RemoteHosts::apply(Change& change) {
  for (std::size_t i = 0; i < change.jobs.size(); ++i) {
    auto& job = change.jobs[i];
    if (job == nullptr) {
      job = std::move(jobs_[change.stays_from[i]]);
      continue;
    }
    for (Seat& seat : job->seats) appoint(*job, seat, job->order[job->first_place(seat.shard)]);
  }
  std::swap(jobs_, change.jobs);
  std::swap(by_id_, change.by_id);
  std::swap(copies_, change.copies);
  copied_ = 0;
}

bool RemoteHosts::concerns(const wire::Packet& packet) const {
  if ((packet.header.flags & wire::kFlagAtPs) == 0) return false;
  switch (packet.header.type) {
    case PacketType::lease:
    case PacketType::leave:
    case PacketType::ack:
    case PacketType::nack: return true;
    case PacketType::result:
    case PacketType::pending:
    case PacketType::unknown:
    // If the job's root is elsewhere, the switch above passes such messages on for ranks (rule 12).
    case PacketType::abort: return serves(packet.header.job);
    default: return false;
  }
}

bool RemoteHosts::alive(const Host& host, Instant now) const {
  return host.known && !host.refused && now - host.heard < lease_ && now >= host.passed_over_until;
}

std::optional<std::size_t> RemoteHosts::find_alive(const HostJob& job, std::size_t first,
                                                   Instant now) const {
  for (std::size_t i = 0; i < job.order.size(); ++i)
    if (const std::size_t host = job.order[(first + i) % job.order.size()];
        alive(job.hosts[host], now))
      return host;
  return std::nullopt;
}

// nullopt: the engine in this switch, whose results come without a term.
void RemoteHosts::appoint(HostJob& job, Seat& seat, std::optional<std::size_t> host) {
  if (!host) return engine_.set_completion_host(job.id, seat.shard, 0, 0);
  seat.host = *host;
  ++seat.term;
  engine_.set_completion_host(job.id, seat.shard, job.hosts[*host].ipv4, seat.term);
}

// ---- messages of the engine

bool RemoteHosts::intercept(Outgoing& message, Instant now, Outbox& box) {
  const wire::Header& h = message.header;
  HostJob* const job = jobs_.empty() ? nullptr : by_id_.find(h.job);
  if (job == nullptr) return false;
  if (message.to == Outgoing::To::peer && h.type == PacketType::start &&
      (h.flags & wire::kFlagAtPs) == 0) {
    message.header.slot = job->notify == wire::Notify::direct ? flow_of_host(*job) : 0;
    // START goes to every rank; the first one of an epoch begins it.
    for (Seat& seat : job->seats)
      if (seat.epoch != h.epoch) begin(*job, seat, h.epoch, now, box);
    return false;
  }
  if (message.to == Outgoing::To::job_group && h.type == PacketType::abort) {
    for (Seat& seat : job->seats)
      if (seat.epoch == h.epoch) end(*job, seat, box);
    return false;
  }
  if (message.to != Outgoing::To::completion_host) return false;
  Seat& seat = job->seats[h.shard];
  if (seat.state == SeatState::here) return false;
  if (!holds_a_host(seat)) {
    job->counters.unserved.add();
    if (!seat.unserved_since) seat.unserved_since = now;
    return true;
  }
  if (message.payload.size() > copies_.size() - copied_) {
    job->counters.unserved.add();
    return true;
  }
  // The engine may be called again before this message is sent.
  if (!message.payload.empty()) {
    std::byte* const copy = copies_.data() + copied_;
    std::memcpy(copy, message.payload.data(), message.payload.size());
    message.payload = {copy, message.payload.size()};
    copied_ += message.payload.size();
  }
  message.to = Outgoing::To::peer;
  message.peer = job->hosts[seat.host].peer;
  job->counters.sent.add();
  return true;
}

void RemoteHosts::begin(HostJob& job, Seat& seat, std::uint16_t epoch, Instant now, Outbox& box) {
  end(job, seat, box);
  seat.epoch = epoch;
  seat.answered = false;
  if (!alive(job.hosts[seat.host], now))
    return take_over(job, seat, job.place_of(seat.host), Chosen::gone, now, box);
  seat.state = SeatState::asking;
  seat.heard = now;
  send_start(job, seat, now, box);
}

// If LEAVE is lost, the host's own lease ends the seat.
void RemoteHosts::say_leave(const HostJob& job, const Seat& seat, Outbox& box) {
  Outgoing* const o = box.add();
  if (o == nullptr) return;
  o->peer = job.hosts[seat.host].peer;
  o->header = header_of(job, PacketType::leave);
  o->header.epoch = seat.epoch;
  o->header.shard = seat.shard;
  wire::ExtensionWriter ext(o->extensions);
  ext.add(wire::ResultInfo{0, 0, seat.term, 0});
  o->extension_bytes = ext.bytes().size();
}

void RemoteHosts::end(HostJob& job, Seat& seat, Outbox& box) {
  if (holds_a_host(seat)) say_leave(job, seat, box);
  if (seat.state == SeatState::here) appoint(job, seat, seat.host);
  seat.state = SeatState::idle;
  seat.epoch = 0;
  seat.unserved_since.reset();
  seat.announce_from.reset();
}

// "Finish the escalated chunks of this shard", and all results before seq are accepted. Its
// repetition is the heartbeat.
void RemoteHosts::send_start(HostJob& job, Seat& seat, Instant now, Outbox& box) {
  Outgoing* const o = box.add();
  if (o == nullptr) return;  // the next look repeats it
  const Host& host = job.hosts[seat.host];
  seat.asked = now;
  o->peer = host.peer;
  o->header = header_of(job, PacketType::start);
  if (job.retries_floats) o->header.flags |= wire::kFlagFloatRetry;
  if (job.degrades) o->header.flags |= wire::kFlagDegraded;
  if (job.answered(seat.epoch)) o->header.flags |= wire::kFlagResend;
  o->header.epoch = seat.epoch;
  o->header.origin = incarnation_of(host.nonce);
  o->header.fan_in = static_cast<std::uint16_t>(job.hosts.size() + (job.root_is_last ? 1 : 0));
  o->header.shard = seat.shard;
  o->header.seq = engine_.accepted_before(job.id, seat.shard);
  wire::StartInfo info = engine_.start_info(job.id);
  info.completion_host = host.ipv4;
  info.host_term = seat.term;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(job.nonce);
  ext.add(info);
  o->extension_bytes = ext.bytes().size();
}

// ---- messages of hosts

aggregator::Decision RemoteHosts::on_packet(const wire::Packet& packet, const Endpoint& from,
                                            Instant now, Outbox& box) {
  const wire::Header& h = packet.header;
  HostJob* const job = by_id_.find(h.job);
  if (job == nullptr) return {Verdict::dropped, DropReason::unknown_job};
  const auto host = std::find_if(job->hosts.begin(), job->hosts.end(), [&](const Host& x) {
    return node_of_ipv4(x.ipv4) == from.node();
  });
  if (host == job->hosts.end() || (host->port && *host->port != from.port())) {
    job->counters.wrong_senders.add();
    return {Verdict::dropped, DropReason::sender_mismatch};
  }
  if (h.type == PacketType::lease) return on_hello(*job, *host, packet, from, now, box);
  if (!host->known || host->peer != from) {
    job->counters.wrong_senders.add();
    return {Verdict::dropped, DropReason::sender_mismatch};
  }
  if (h.type == PacketType::leave) {
    host->known = false;  // the next look finds another host
    return {Verdict::noted};
  }
  if (h.shard >= job->seats.size()) return {Verdict::dropped, DropReason::bad_shard};
  Seat& seat = job->seats[h.shard];
  if (seat.epoch == 0 || h.epoch != seat.epoch) return {Verdict::dropped, DropReason::stale_epoch};
  const auto info = wire::find_result_info(packet.extensions);
  if (!holds_a_host(seat) || &job->hosts[seat.host] != &*host || !info ||
      info->host_term != seat.term) {
    job->counters.stale_terms.add();
    return {Verdict::dropped, DropReason::stale_term};
  }
  return on_answer(*job, seat, packet, now, box);
}

// A host reports that it is alive, and its incarnation.
aggregator::Decision RemoteHosts::on_hello(HostJob& job, Host& host, const wire::Packet& packet,
                                           const Endpoint& from, Instant now, Outbox& box) {
  const auto nonce = wire::find_nonce(packet.extensions);
  if (!nonce) return {Verdict::dropped, DropReason::bad_extension};
  // A live host may not be replaced from elsewhere (rule 18), only by itself after a restart.
  const bool lives = host.known && now - host.heard < lease_;
  if (lives && !(*nonce == host.nonce ? from == host.peer : from.is_same_host(host.peer))) {
    job.counters.wrong_senders.add();
    return {Verdict::dropped, DropReason::sender_mismatch};
  }
  const bool restarted = host.known && *nonce != host.nonce;
  if (*nonce != host.nonce) host.refused = false;
  host.known = true;
  host.peer = from;
  host.nonce = *nonce;
  host.heard = now;
  if (restarted) {
    job.counters.restarts.add();
    host.passed_over_until = Instant();
    for (Seat& seat : job.seats)
      if (holds_a_host(seat) && &job.hosts[seat.host] == &host &&
          engine_.running_epoch(job.id) == seat.epoch)  // the first message may have ended it
        take_over(job, seat, job.place_of(seat.host), Chosen::restarted, now, box);
  }
  Outgoing* const o = box.add();
  if (o == nullptr) return {Verdict::noted};
  o->peer = from;
  o->header = header_of(job, PacketType::ack);
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(*nonce);
  o->extension_bytes = ext.bytes().size();
  return {Verdict::answered};
}

aggregator::Decision RemoteHosts::on_answer(HostJob& job, Seat& seat, const wire::Packet& packet,
                                            Instant now, Outbox& box) {
  Host& host = job.hosts[seat.host];
  host.heard = seat.heard = now;
  if (packet.header.type != PacketType::nack) seat.answered = true;
  switch (packet.header.type) {
    case PacketType::ack: seat.state = SeatState::serving; return {Verdict::noted};
    case PacketType::nack:
      // The host has other settings for the job, which time will not change; or it has given the
      // term up, and may accept another one.
      if (packet.header.reason == wire::Reason::settings_mismatch) {
        host.refused = true;
        job.counters.refusals.add();
      }
      take_over(job, seat, job.place_of(seat.host), Chosen::refused, now, box);
      return {Verdict::noted};
    default: return pass_on(job, seat, packet, now, box);
  }
}

// Passes the packet to the aggregation engine, as if the engine in this switch had sent it.
aggregator::Decision RemoteHosts::pass_on(HostJob& job, Seat& seat, const wire::Packet& packet,
                                          Instant now, Outbox& box) {
  wire::Packet heard = packet;
  // A request for floats keeps the flag at-ps: the resent data must carry it.
  if (heard.header.attempt == 0) heard.header.flags &= ~std::uint32_t{wire::kFlagAtPs};
  std::array<std::byte, wire::kMaxExtensionBytes> room;
  if (packet.header.type == PacketType::pending || packet.header.type == PacketType::unknown) {
    // A message to a rank carries no term.
    std::array<std::uint32_t, wire::kMaxMissingIds> missing;
    const std::size_t n = wire::find_missing_ids(packet.extensions, missing);
    wire::ExtensionWriter ext(room);
    if (packet.header.type == PacketType::pending)
      ext.add_missing_ids(std::span(missing).first(std::min(n, missing.size())));
    heard.extensions = ext.bytes();
  }
  if (!engine_.on_host_packet(heard, now, box)) {
    // The host has given the job up for a chunk that does not need it any more: it starts anew.
    if (packet.header.type == PacketType::abort)
      take_over(job, seat, job.place_of(seat.host), Chosen::refused, now, box);
    return {Verdict::dropped, DropReason::duplicate};
  }
  if (packet.header.type == PacketType::abort) return {Verdict::epoch_aborted};
  if (packet.header.type != PacketType::result) return {Verdict::answered};
  job.counters.results.add();
  return {Verdict::completed};
}

// ---- choice of a host

void RemoteHosts::take_over(HostJob& job, Seat& seat, std::size_t first, Chosen why, Instant now,
                            Outbox& box) {
  // Some ranks may hold a result that only the former host knows; no other may replace it (rule 5).
  if (job.notify != wire::Notify::root && holds_a_host(seat) &&
      engine_.waits_for_host(job.id, seat.shard))
    return engine_.abort_host_lost(job.id, box);
  const auto next = find_alive(job, first, now);
  seat.chosen = why;
  job.counters.takeovers.add();
  seat.heard = now;
  seat.announce_from = engine_.accepted_before(job.id, seat.shard);
  if (next) {
    appoint(job, seat, *next);
    seat.state = SeatState::asking;
    seat.unserved_since.reset();
    send_start(job, seat, now, box);
    return;
  }
  if (job.root_is_last) appoint(job, seat, std::nullopt);
  seat.state = job.root_is_last ? SeatState::here : SeatState::vacant;
}

void RemoteHosts::choose_while_idle(HostJob& job, Seat& seat, Instant now) {
  const auto best = find_alive(job, job.first_place(seat.shard), now);
  if (!best || *best == seat.host) return;
  appoint(job, seat, *best);
  seat.chosen = Chosen::policy;
}

// A new host begins without state: it is told every chunk that it has to finish.
void RemoteHosts::announce(HostJob& job, Seat& seat, Outbox& box) {
  // Until the host has answered START, it does not accept them.
  const bool listens = seat.state == SeatState::serving || seat.state == SeatState::here;
  if (!seat.announce_from || !listens) return;
  const std::uint32_t low = engine_.accepted_before(job.id, seat.shard);
  if (seq_before(*seat.announce_from, low)) seat.announce_from = low;
  const std::size_t before = box.items().size();
  const std::uint32_t next = engine_.announce_again(job.id, seat.shard, *seat.announce_from, box);
  job.counters.announced.add(box.items().size() - before);
  seat.announce_from = next;
  if (seq_at_or_after(next, low + engine_.start_info(job.id).window)) seat.announce_from.reset();
}

void RemoteHosts::expire_seat(HostJob& job, Seat& seat, Instant now, Outbox& box) {
  if (seat.epoch != 0 && engine_.running_epoch(job.id) != seat.epoch) end(job, seat, box);
  if (seat.state == SeatState::idle) return choose_while_idle(job, seat, now);
  if (seat.state == SeatState::here) return announce(job, seat, box);
  Host& host = job.hosts[seat.host];
  if (seat.state == SeatState::vacant) {
    if (find_alive(job, 0, now)) {
      take_over(job, seat, job.first_place(seat.shard), Chosen::gone, now, box);
    } else if (seat.unserved_since && now - std::max(*seat.unserved_since, seat.heard) >= lease_) {
      engine_.abort_host_lost(job.id, box);
    }
    return;
  }
  const bool silent = now - seat.heard >= lease_;
  if (silent) host.passed_over_until = now + lease_;
  if (silent || !alive(host, now))
    return take_over(job, seat, job.place_of(seat.host) + 1, Chosen::gone, now, box);
  const Duration pause = seat.state == SeatState::asking ? kAskAgain : lease_ / 3;
  if (now - seat.asked >= pause) send_start(job, seat, now, box);
  announce(job, seat, box);
}

void RemoteHosts::expire(Instant now, Outbox& box) {
  if (now < next_look_) return;
  next_look_ = now + kLookAgain;
  for (const auto& job : jobs_)
    for (Seat& seat : job->seats) expire_seat(*job, seat, now, box);
}

std::size_t RemoteHosts::outbox_capacity() const {
  std::size_t seats = 0;
  for (const auto& job : jobs_) seats += job->seats.size();
  return 2 * seats;
}

std::size_t RemoteHosts::outbox_capacity(const config::SwitchConfig& config) {
  std::size_t seats = 0;
  for (const config::JobConfig& job : config.jobs)
    if (has_hosts_elsewhere(job)) seats += job.shards;
  return 2 * seats;
}

std::vector<SeatStatus> RemoteHosts::status(Instant now) const {
  std::vector<SeatStatus> all;
  for (const auto& job : jobs_)
    for (const Seat& seat : job->seats) {
      const Host& host = job->hosts[seat.host];
      const bool here = seat.state == SeatState::here;
      all.push_back({job->id, seat.shard, here ? config::kRootHost : host.name, seat.term,
                     seat.state, job->choice, seat.chosen,
                     host.known && !here ? std::optional(now - host.heard) : std::nullopt});
    }
  return all;
}

}  // namespace tributary::completion
