#include "completion/host/server.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "completion/host/host_job.h"

namespace tributary::completion {

using aggregator::Outbox;
using aggregator::Outgoing;
using wire::PacketType;

namespace {

// Bytes of a snapshot copied at each look at the clock: a millisecond's work.
constexpr std::size_t kCopiedAtOnce = std::size_t{4} << 20;

// For an engine, each shard is a job of its own.
JobLimits of_one_shard(const ServedJob& job) {
  JobLimits limits = job.limits;
  limits.bytes /= limits.shards;
  limits.shards = 1;
  limits.bytes = std::max(limits.bytes, least_bytes(limits));
  return limits;
}

void check_endpoints(const ServedJob& job) {
  const std::size_t shards = job.limits.shards;
  if (job.roots.size() == shards &&
      (job.limits.notify != wire::Notify::direct || job.group.size() == shards))
    return;
  throw std::invalid_argument("server: job " + std::to_string(job.limits.id) + " has " +
                              std::to_string(shards) + " shards, endpoints of its root for " +
                              std::to_string(job.roots.size()) + " and of its ranks for " +
                              std::to_string(job.group.size()));
}

}  // namespace

Server::Seat::Seat(const ServedJob& served, std::size_t job_place, std::uint8_t index)
    : job(served),
      place(job_place),
      shard(index),
      engine(std::vector<JobLimits>{of_one_shard(served)}) {}

Server::Server(std::span<const ServedJob> jobs, const ServerIdentity& identity)
    : identity_(identity), jobs_(jobs.begin(), jobs.end()), roots_(jobs.size()) {
  for (std::size_t place = 0; place < jobs_.size(); ++place) {
    ServedJob& job = jobs_[place];
    job.limits.root_is_here = false;
    if (!first_seat_.emplace(job.limits.id, seats_.size()).second)
      throw std::invalid_argument("server: job " + std::to_string(job.limits.id) +
                                  " appears twice");
    check_endpoints(job);
    const bool has_model = job.optimizer.kind != config::OptimizerKind::none;
    models_.push_back(has_model ? std::make_unique<Model>(job.optimizer, job.limits.piece_bytes)
                                : nullptr);
    for (std::uint8_t shard = 0; shard < job.limits.shards; ++shard) {
      seats_.push_back(std::make_unique<Seat>(job, place, shard));
      if (has_model) seats_.back()->engine.set_model(job.limits.id, *models_.back());
    }
  }
}
Server::~Server() = default;

const ServedJob* Server::find_job(std::uint32_t id) const {
  const auto found = first_seat_.find(id);
  return found == first_seat_.end() ? nullptr : &seats_[found->second]->job;
}

const char* name_of(Objection why) {
  switch (why) {
    case Objection::settings: return "settings";
    case Objection::shared_model: return "shared-model";
    case Objection::none: break;
  }
  return "-";
}

DropReason Server::on_packet(const wire::Packet& packet, const Endpoint& from, Instant now,
                             Outbox& out) {
  const wire::Header& h = packet.header;
  const auto found = first_seat_.find(h.job);
  if (found == first_seat_.end()) return DropReason::unknown_job;
  const ServedJob& job = seats_[found->second]->job;
  if (!from.is_same_host(job.roots.front())) {
    counters_.wrong_senders.add();
    return DropReason::sender_mismatch;
  }
  if (h.shard >= job.limits.shards) return DropReason::bad_shard;
  if (from != job.roots[h.shard]) {
    counters_.wrong_senders.add();
    return DropReason::sender_mismatch;
  }
  Seat& seat = *seats_[found->second + h.shard];
  roots_[seat.place].heard = now;
  switch (h.type) {
    case PacketType::start: return on_start(seat, packet, now, out);
    case PacketType::leave: return on_leave(seat, packet);
    case PacketType::ack: return DropReason::none;  // the answer to hello
    case PacketType::contribution:
    case PacketType::aggregate:
    case PacketType::escalation:
    case PacketType::probe: return on_piece(seat, packet, now, out);
    default: return DropReason::bad_type;
  }
}

bool Server::agrees(const ServedJob& job, const wire::StartInfo& info) {
  const JobLimits& l = job.limits;
  return info.window == l.window && info.chunk_bytes == l.piece_bytes &&
         info.workers == l.workers && info.shards == l.shards &&
         info.integrity == static_cast<std::uint8_t>(job.integrity) &&
         info.partials == static_cast<std::uint8_t>(l.partials) &&
         info.order == static_cast<std::uint8_t>(l.order) &&
         info.arithmetic == static_cast<std::uint8_t>(l.arithmetic) &&
         info.notify == static_cast<std::uint8_t>(l.notify);
}

// One server must hold a whole model: other hosts would get the updates of some of its blocks.
Objection Server::objection(const ServedJob& job, const wire::Header& start,
                            const wire::StartInfo& info) {
  if (!agrees(job, info)) return Objection::settings;
  const bool has_model = job.optimizer.kind != config::OptimizerKind::none;
  return has_model && start.fan_in > 1 ? Objection::shared_model : Objection::none;
}

DropReason Server::on_start(Seat& seat, const wire::Packet& packet, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const auto info = wire::find_start_info(packet.extensions);
  const auto nonce = wire::find_nonce(packet.extensions);
  if (!info || !nonce || h.epoch == 0 || info->host_term == 0) return DropReason::bad_extension;
  if (info->completion_host != identity_.ipv4) return DropReason::bad_target;
  // It was sent to another incarnation, which may have answered and ended: its terms are not ours.
  if (h.origin != incarnation_of(identity_.nonce)) {
    counters_.stale_terms.add();
    return DropReason::stale_term;
  }
  if (is_former(roots_[seat.place], *nonce)) {
    counters_.stale_terms.add();
    return DropReason::stale_term;
  }
  const bool same_root = *nonce == seat.root_nonce;
  if (same_root && info->host_term == seat.term && h.epoch == seat.epoch && seat.serving) {
    seat.heard = now;
    seat.engine.accepted_before(h.job, 0, h.seq);
    answer(seat, PacketType::ack, wire::Reason::none, out);
    return DropReason::none;
  }
  // A late copy; or a term that is over here, which the root has to be told.
  if (same_root && h.epoch == seat.epoch && info->host_term <= seat.term) {
    counters_.stale_terms.add();
    if (!seat.serving && info->host_term == seat.term)
      answer(seat, PacketType::nack, wire::Reason::not_joined, out);
    return DropReason::stale_term;
  }
  // Terms and epochs only grow while a root is alive.
  if (same_root &&
      (info->host_term < seat.term || static_cast<std::int16_t>(h.epoch - seat.epoch) < 0)) {
    counters_.stale_terms.add();
    return DropReason::stale_term;
  }
  Model* const model = models_[seat.place].get();
  const bool began = model != nullptr && model->began(*nonce, h.epoch);
  if (!begin_model_epoch(seat, *nonce, h.epoch)) {
    counters_.stale_terms.add();
    return DropReason::stale_term;
  }
  // Another host has answered in this epoch, from a model that does not exist any more.
  if (model != nullptr && (h.flags & wire::kFlagResend) != 0 && !began) model->miss_beginning();
  end(seat);
  if (!same_root && seat.term != 0) retire(roots_[seat.place], seat.root_nonce);
  seat.epoch = h.epoch;
  seat.term = info->host_term;
  seat.root_nonce = *nonce;
  seat.heard = now;
  roots_[seat.place].lease = Duration::ms(info->lease_ms);
  seat.objection = objection(seat.job, h, *info);
  if (seat.objection != Objection::none) {
    counters_.refused.add();
    answer(seat, PacketType::nack, wire::Reason::settings_mismatch, out);
    return DropReason::none;
  }
  seat.serving = true;
  const bool retries = (h.flags & wire::kFlagFloatRetry) != 0;
  const bool may_degrade = (h.flags & wire::kFlagDegraded) != 0;
  seat.engine.start_epoch(h.job, h.epoch, h.seq, info->host_term, retries, may_degrade);
  counters_.starts.add();
  answer(seat, PacketType::ack, wire::Reason::none, out);
  return DropReason::none;
}

bool Server::is_former(const Root& root, std::uint64_t nonce) {
  const std::size_t known = std::min(root.former_count, root.former.size());
  const std::span former(root.former.data(), known);
  return std::find(former.begin(), former.end(), nonce) != former.end();
}

// Seats of other shards may have retired it before.
void Server::retire(Root& root, std::uint64_t nonce) {
  if (!is_former(root, nonce)) root.former[root.former_count++ % root.former.size()] = nonce;
}

bool Server::begin_model_epoch(const Seat& seat, std::uint64_t root, std::uint16_t epoch) {
  Model* const model = models_[seat.place].get();
  if (model == nullptr || model->began(root, epoch)) return true;
  if (model->is_over(root, epoch)) return false;
  // No sum of the former epoch may be added to a model that goes back if another run begins.
  for (const auto& other : seats_)
    if (other->place == seat.place) end(*other);
  model->begin(root, epoch);
  return true;
}

DropReason Server::on_leave(Seat& seat, const wire::Packet& packet) {
  const auto info = wire::find_result_info(packet.extensions);
  if (!seat.serving || packet.header.epoch != seat.epoch || !info || info->host_term != seat.term)
    return DropReason::stale_term;
  counters_.ended.add();
  end(seat);
  return DropReason::none;
}

DropReason Server::on_piece(Seat& seat, const wire::Packet& packet, Instant now, Outbox& out) {
  if (!seat.serving) return DropReason::not_joined;
  wire::Packet one = packet;
  one.header.shard = 0;
  const std::size_t before = out.items().size();
  const Decision decision = seat.engine.on_packet(one, now, out);
  for (std::size_t i = before; i < out.items().size(); ++i) address(seat, out.item(i));
  if (decision.verdict == Verdict::completed) add_direct(seat, before, out);
  return decision.reason;
}

// A chunk that the root has given up is decided only here (rule 5).
bool Server::take_own(const wire::Packet& escalation, Instant now, Outbox& out) {
  const wire::Header& h = escalation.header;
  const auto found = first_seat_.find(h.job);
  if (found == first_seat_.end() || h.shard >= seats_[found->second]->job.limits.shards)
    return false;
  Seat& seat = *seats_[found->second + h.shard];
  wire::Header chunk = h;
  chunk.shard = 0;
  if (!seat.serving || !seat.engine.is_open(chunk)) return false;
  if (on_piece(seat, escalation, now, out) != DropReason::none) return false;
  counters_.own_sums.add();
  return true;
}

// Appended behind the root's copy. A rank that asks again asks the root, which answers.
void Server::add_direct(const Seat& seat, std::size_t first, Outbox& out) {
  if (seat.job.limits.notify != wire::Notify::direct) return;
  const std::size_t end = out.items().size();
  for (std::size_t i = first; i < end; ++i) {
    const Outgoing& for_root = out.items()[i];
    // A result for one rank alone is distributed by the switches.
    if (for_root.header.type != PacketType::result ||
        aggregator::has_target(for_root.header.collective))
      continue;
    Outgoing* const o = out.add();
    if (o == nullptr) return;  // the root notifies those ranks
    *o = for_root;
    o->to = Outgoing::To::job_group;
    o->peer = seat.job.group[seat.shard];
  }
}

void Server::end(Seat& seat) {
  if (!seat.serving) return;
  seat.serving = false;
  seat.engine.end_epoch(seat.job.limits.id);
}

void Server::address(const Seat& seat, Outgoing& said) {
  said.to = Outgoing::To::peer;
  said.peer = seat.job.roots[seat.shard];
  said.header.flags |= wire::kFlagAtPs;
  said.header.shard = seat.shard;
  if (said.header.type == PacketType::result) return;  // the engine has written the term
  wire::ExtensionWriter ext(std::span(said.extensions).subspan(said.extension_bytes));
  ext.add(wire::ResultInfo{seat.job.limits.window, 0, seat.term, 0});
  said.extension_bytes += ext.bytes().size();
}

void Server::answer(const Seat& seat, PacketType type, wire::Reason reason, Outbox& out) const {
  Outgoing* const o = out.add();
  if (o == nullptr) return;  // the root asks again
  o->header.type = type;
  o->header.job = seat.job.limits.id;
  o->header.epoch = seat.epoch;
  o->header.reason = reason;
  address(seat, *o);
}

void Server::say_hello(std::size_t place, PacketType type, Outbox& out) const {
  const ServedJob& job = jobs_[place];
  Outgoing* const o = out.add();
  if (o == nullptr) return;
  o->peer = job.roots.front();
  o->header.type = type;
  o->header.flags = wire::kFlagAtPs;
  o->header.job = job.limits.id;
  o->header.origin = identity_.ipv4;
  wire::ExtensionWriter ext(o->extensions);
  ext.add_nonce(identity_.nonce);
  o->extension_bytes = ext.bytes().size();
}

bool Server::expire(Instant now, Outbox& out) {
  for (const auto& seat : seats_) {
    if (!seat->serving) continue;
    if (now - seat->heard >= roots_[seat->place].lease) {
      counters_.lapsed.add();
      end(*seat);
      continue;
    }
    const std::size_t before = out.items().size();
    seat->engine.expire(now, out);
    for (std::size_t i = before; i < out.items().size(); ++i) address(*seat, out.item(i));
    add_direct(*seat, before, out);
  }
  for (const auto& model : models_)
    if (model) model->copy_some(kCopiedAtOnce);
  for (std::size_t place = 0; place < roots_.size(); ++place) {
    if (now < roots_[place].hello_at) continue;
    roots_[place].hello_at = now + identity_.heartbeat;
    say_hello(place, PacketType::lease, out);
  }
  return !out.items().empty();
}

void Server::shut_down(Outbox& out) {
  for (const auto& seat : seats_) end(*seat);
  for (std::size_t place = 0; place < roots_.size(); ++place)
    say_hello(place, PacketType::leave, out);
}

std::size_t Server::outbox_capacity() const {
  std::size_t most = 0;
  for (const auto& seat : seats_) most = std::max(most, seat->engine.outbox_capacity());
  return 2 * most + seats_.size() + jobs_.size() + 1;  // to the root, and to a group
}

std::vector<ServerSeatStatus> Server::status(Instant now) const {
  std::vector<ServerSeatStatus> all;
  for (const auto& seat : seats_) {
    const auto heard = roots_[seat->place].heard;
    all.push_back({seat->job.limits.id, seat->shard, seat->serving, seat->objection, seat->epoch,
                   seat->term, heard ? std::optional(now - *heard) : std::nullopt});
  }
  return all;
}

std::uint64_t Server::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& seat : seats_) bytes += seat->engine.memory_bytes();
  for (const auto& model : models_) bytes += model ? model->memory_bytes() : 0;
  return bytes;
}

}  // namespace tributary::completion
