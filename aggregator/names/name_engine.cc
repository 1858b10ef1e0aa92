#include "aggregator/names/name_engine.h"

#include <algorithm>
#include <utility>

#include "core/digest.h"

namespace tributary::aggregator {

using wire::PacketType;
using wire::Reason;

namespace {

std::uint64_t cache_bytes(const config::SwitchConfig& config) {
  return config.share ? config.share->names_bytes : std::uint64_t{config.names.megabytes} << 20;
}

bool contains(const config::IpPrefix& prefix, const NodeId& node) {
  const std::uint64_t mapped = node.low >> 32;
  const bool is_ipv4 = node.high == 0 && mapped == 0xFFFF;
  if (prefix.is_ipv6 == is_ipv4) return false;
  const auto byte_of = [&](std::size_t i) {
    const std::size_t at = is_ipv4 ? 12 + i : i;
    const std::uint64_t half = at < 8 ? node.high : node.low;
    return static_cast<std::uint8_t>(half >> (56 - 8 * (at % 8)));
  };
  for (std::size_t bit = 0; bit < prefix.bits; ++bit)
    if (((prefix.address[bit / 8] ^ byte_of(bit / 8)) >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}

std::uint32_t share_of(std::uint32_t all, const NamedJobs& jobs) {
  return all / static_cast<std::uint32_t>(std::max<std::size_t>(1, jobs.all().size()));
}

}  // namespace

NameEngine::NameEngine(const config::SwitchConfig& config, std::uint64_t seed)
    : jobs_(config),
      declared_share_(share_of(config.names.entries, jobs_)),
      pending_share_(share_of(config.names.pending, jobs_)),
      entries_(config.names.entries),
      rows_(config.names.pending),
      ttl_(config.names.ttl),
      pending_(config.names.enabled() ? config.names.pending : 1) {
  const std::uint64_t slots = cache_bytes(config) / config.names.segment_bytes;
  if (slots != 0)
    store_.emplace(config.names.entries, static_cast<std::uint32_t>(slots),
                   config.names.segment_bytes, seed);
}

void NameEngine::apply(NamedJobs& next) {
  next.inherit(jobs_);
  std::swap(jobs_, next);
  declared_share_ = share_of(entries_, jobs_);
  pending_share_ = share_of(rows_, jobs_);
  bool gone = false;
  for (const Job& job : next.all()) {  // those from before
    if (jobs_.find(job.id) != nullptr) continue;
    gone = true;
    pending_.forget(job.id);
  }
  if (!store_ || !gone) return;
  for (std::uint32_t i = 0; i < store_->capacity(); ++i)
    if ((*store_)[i].used && jobs_.find((*store_)[i].job) == nullptr) store_->remove(i);
}

void NameEngine::remove(std::uint32_t entry) {
  const NameEntry& e = (*store_)[entry];
  if (Job* const job = jobs_.find(e.job); job != nullptr && e.declared) --job->declared;
  store_->remove(entry);
}

void NameEngine::expire(Instant now) {
  for (std::uint32_t i = 0; i < kExpirePerTurn; ++i) {
    const std::uint32_t id = pending_.expire(now);
    if (id == 0) break;
    if (Job* const job = jobs_.find(id)) {
      --job->pending;
      job->counters.unanswered.add();
    }
  }
  for (std::uint32_t i = 0; store_ && i < kExpirePerTurn; ++i) {
    const std::uint32_t oldest = store_->oldest();
    if (oldest == NameStore::kNone || now - (*store_)[oldest].created < ttl_) return;
    forget_expired(oldest);
  }
}

// Looks a name up, unless it has expired. A copy does so with its original, before it is as old as
// `ttl` here; expire() takes away those that no packet asks for.
std::uint32_t NameEngine::find_alive(std::string_view name, std::uint64_t hash, Instant now) {
  const std::uint32_t entry = store_->find(name, hash);
  if (entry == NameStore::kNone || now < (*store_)[entry].expires) return entry;
  forget_expired(entry);
  return NameStore::kNone;
}

void NameEngine::forget_expired(std::uint32_t entry) {
  if (Job* const job = jobs_.find((*store_)[entry].job)) job->counters.expired.add();
  remove(entry);
}

Instant NameEngine::end_of(const wire::ValueInfo& info, Instant now) const {
  return now + (info.lifetime_ms == 0 ? ttl_ : std::min(ttl_, Duration::ms(info.lifetime_ms)));
}

wire::ValueInfo NameEngine::info_of(std::uint32_t entry, Instant now) const {
  const NameEntry& e = (*store_)[entry];
  wire::ValueInfo info = e.info;
  const std::int64_t left_ms = (e.expires - now).to_ns() / 1'000'000;
  info.lifetime_ms = static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ms, 1, UINT32_MAX));
  return info;
}

bool NameEngine::use_of(std::uint32_t job, Instant now, std::uint32_t& place, std::uint32_t most,
                        JobUse& use) const {
  const std::uint32_t end = store_ ? std::min(store_->capacity(), place + most) : place;
  for (; place < end; ++place) {
    const NameEntry& e = (*store_)[place];
    if (!e.used || e.job != job || now >= e.expires) continue;
    ++use.names;
    use.oldest = std::max(use.oldest.value_or(Duration()), now - e.created);
    if (!store_->has_bytes(place)) continue;
    ++use.segments;
    use.bytes += e.bytes;
  }
  return store_ && place < store_->capacity();
}

// Messages ---------------------------------------------------------------------------------------

Outgoing* NameEngine::add(PacketType type, std::uint32_t job, std::string_view name, Outbox& out) {
  Outgoing* const message = out.add();
  if (message == nullptr) return nullptr;
  message->header.type = type;
  message->header.job = job;
  wire::ExtensionWriter extensions(message->extensions);
  if (!name.empty()) wire::add_name(extensions, name);
  message->extension_bytes = extensions.bytes().size();
  return message;
}

void NameEngine::address(Outgoing& message, const PendingTable::Asker& asker) {
  message.to = asker.is_parent ? Outgoing::To::parent : Outgoing::To::peer;
  message.peer = asker.peer;
}

void NameEngine::describe(Outgoing& message, const wire::ValueInfo& info) {
  wire::ExtensionWriter extensions(std::span(message.extensions).subspan(message.extension_bytes));
  wire::add_value_info(extensions, info);
  message.extension_bytes += extensions.bytes().size();
}

void NameEngine::attach(Outgoing& message, const wire::ValueInfo& info,
                        std::span<const std::byte> payload) {
  describe(message, info);
  message.header.dtype = wire::DType::uint8;
  message.header.element_count = static_cast<std::uint16_t>(payload.size());
  message.payload = payload;
}

DropReason NameEngine::refuse(const wire::Packet& packet, const Endpoint& from, Reason why,
                              Job* job, std::string_view name, Outbox& out) {
  if (job != nullptr) job->counters.refused.add();
  const auto fitting = name.size() <= wire::kMaxNameBytes ? name : std::string_view();
  Outgoing* const message = add(PacketType::refuse, packet.header.job, fitting, out);
  if (message == nullptr) return DropReason::name_refused;
  message->peer = from;
  message->header.reason = why;
  message->header.slot = static_cast<std::uint32_t>(packet.header.type);
  return DropReason::name_refused;
}

// Packets ----------------------------------------------------------------------------------------

DropReason NameEngine::on_packet(const wire::Packet& packet, const Endpoint& from,
                                 const NameSender& sender, Instant now, Outbox& out) {
  const wire::Header& h = packet.header;
  const bool asks = h.type == PacketType::put || h.type == PacketType::get;
  const std::string_view text = wire::find_name(packet.extensions).value_or(std::string_view());
  Job* const job = store_ ? jobs_.find(h.job) : nullptr;
  if (job == nullptr)
    return asks ? refuse(packet, from, Reason::names_off, nullptr, text, out)
                : DropReason::bad_name;
  Request r{packet, from, sender, *job, text, {}};
  r.hash = store_->hash_of(text);
  r.entry = find_alive(text, r.hash, now);
  // A name that has an entry was checked when it got it.
  if (h.type == PacketType::get && r.entry != NameStore::kNone && (*store_)[r.entry].job == h.job)
    return on_get(r, now, out);
  const bool malformed = wire::parse_wire_name(text, r.name) != nullptr;
  if (malformed || r.name.job != h.job) {
    if (!asks) return DropReason::bad_name;
    return refuse(packet, from, malformed ? Reason::bad_name : Reason::foreign_name, job, text,
                  out);
  }
  switch (h.type) {
    case PacketType::put: return on_put(r, now, out);
    case PacketType::get: return on_get(r, now, out);
    case PacketType::stored: return on_stored(r, now, out);
    case PacketType::data: return on_data(r, now, out);
    case PacketType::refuse: return on_refusal(r, out);
    default: return DropReason::bad_type;
  }
}

std::optional<Reason> NameEngine::why_no_segment(const Request& r,
                                                 const std::optional<wire::ValueInfo>& info) {
  const auto payload = r.packet.payload;
  if (payload.size() > r.job.segment_bytes) return Reason::value_too_large;
  const bool agrees =
      !info || info->segments != 1 || info->whole == 0 || info->whole == info->digest;
  const bool sound = agrees && info && r.packet.header.dtype == wire::DType::uint8 &&
                     r.packet.header.encoding == wire::Encoding::plain && info->segments != 0 &&
                     *r.name.segment < info->segments && xxh64(payload) == info->digest;
  return sound ? std::nullopt : std::optional(Reason::bad_name);
}

std::optional<Reason> NameEngine::why_not_put(const Request& r,
                                              const std::optional<wire::ValueInfo>& info) const {
  if (!r.sender.is_member()) return Reason::not_allowed;
  if (r.name.worker && !r.sender.has(*r.name.worker)) return Reason::not_allowed;
  if (const auto why = why_no_segment(r, info)) return why;
  if (r.entry == NameStore::kNone || (*store_)[r.entry].info.is_same_segment(*info))
    return std::nullopt;
  // The switch above may still refuse the other value: the sender asks again.
  return (*store_)[r.entry].confirmed ? Reason::name_taken : Reason::names_busy;
}

// False: the job's share of the table is used up.
bool NameEngine::declare(Request& r, const wire::ValueInfo& info, Instant now) {
  const bool is_new = r.entry == NameStore::kNone || !(*store_)[r.entry].declared;
  if (is_new && r.job.declared >= declared_share_) return false;
  if (r.entry == NameStore::kNone) r.entry = store_->add(r.text, r.hash, r.job.id, now);
  if (r.entry == NameStore::kNone) return false;
  if (is_new) ++r.job.declared;
  NameEntry& e = (*store_)[r.entry];
  e.info = info;
  store_->declare(r.entry, r.from, now);
  if (is_new) e.expires = std::min(e.expires, now + ttl_);  // a copy is as old as its original
  e.confirmed = e.confirmed || !r.job.has_parent;
  keep(r);
  return true;
}

void NameEngine::keep(const Request& r) {
  const std::uint32_t evicted = store_->keep(r.entry, r.packet.payload);
  if (Job* const job = evicted == 0 ? nullptr : jobs_.find(evicted)) job->counters.evicted.add();
}

// Its producer has given up, or the root's answer is lost; or it has expired.
bool NameEngine::gives_way(std::uint32_t entry, Instant now) const {
  const NameEntry& e = (*store_)[entry];
  return now >= e.expires || (!e.confirmed && now - e.created >= PendingTable::kLifetime);
}

std::optional<Reason> NameEngine::why_of_other_value(const Request& r, const wire::ValueInfo& info,
                                                     Instant now) {
  for (std::uint32_t i = 0; i < kExpirePerTurn; ++i) {
    const std::uint32_t other = store_->find_of_value(r.text);
    if (other == NameStore::kNone || (*store_)[other].info.is_of_same_value(info))
      return std::nullopt;
    if (!gives_way(other, now))
      return (*store_)[other].confirmed ? Reason::name_taken : Reason::names_busy;
    remove(other);
  }
  return Reason::names_busy;  // more of them are left
}

// Where there is a switch above, that one answers: a name has one value in the whole tree.
DropReason NameEngine::on_put(Request& r, Instant now, Outbox& out) {
  r.job.counters.puts.add();
  const auto info = wire::find_value_info(r.packet.extensions);
  if (r.entry != NameStore::kNone && info && !(*store_)[r.entry].info.is_same_segment(*info) &&
      gives_way(r.entry, now)) {
    remove(r.entry);
    r.entry = NameStore::kNone;
  }
  auto why = why_not_put(r, info);
  if (!why && r.entry == NameStore::kNone) why = why_of_other_value(r, *info, now);
  if (why) return refuse(r.packet, r.from, *why, &r.job, r.text, out);
  if (!declare(r, *info, now))
    return refuse(r.packet, r.from, Reason::names_full, &r.job, r.text, out);
  Outgoing* const message =
      add(r.job.has_parent ? PacketType::put : PacketType::stored, r.job.id, r.text, out);
  if (message == nullptr) return DropReason::none;
  if (!r.job.has_parent) {
    message->peer = r.from;
    describe(*message, info_of(r.entry, now));
    return DropReason::none;
  }
  message->to = Outgoing::To::parent;
  attach(*message, *info, r.packet.payload);
  return DropReason::none;
}

DropReason NameEngine::on_stored(Request& r, Instant now, Outbox& out) {
  if (r.sender.kind != NameSender::Kind::parent || r.entry == NameStore::kNone ||
      !(*store_)[r.entry].declared)
    return DropReason::name_unasked;
  NameEntry& e = (*store_)[r.entry];
  // The answer to an earlier put of another value may come late.
  const auto info = wire::find_value_info(r.packet.extensions);
  if (!info || !info->is_same_segment(e.info)) return DropReason::name_unasked;
  e.confirmed = true;
  e.expires = std::min(e.expires, end_of(*info, now));  // the root may have had it before
  if (Outgoing* const message = add(PacketType::stored, r.job.id, r.text, out)) {
    message->peer = e.from;
    describe(*message, info_of(r.entry, now));
  }
  return DropReason::none;
}

bool NameEngine::may_get(const Request& r) {
  if (r.sender.kind != NameSender::Kind::stranger) return true;
  return std::any_of(r.job.readers.begin(), r.job.readers.end(),
                     [&](const config::IpPrefix& p) { return contains(p, r.from.node()); });
}

DropReason NameEngine::on_get(Request& r, Instant now, Outbox& out) {
  if (!may_get(r)) return refuse(r.packet, r.from, Reason::not_allowed, &r.job, r.text, out);
  const PendingTable::Asker asker{r.from, r.sender.kind == NameSender::Kind::parent};
  if (r.entry != NameStore::kNone && store_->has_bytes(r.entry) && (*store_)[r.entry].confirmed) {
    r.job.counters.hits.add();
    store_->touch(r.entry);
    Outgoing* const message = add(PacketType::data, r.job.id, r.text, out);
    if (message == nullptr) return DropReason::none;
    address(*message, asker);
    attach(*message, info_of(r.entry, now), store_->bytes_of(r.entry));
    return DropReason::none;
  }
  r.job.counters.misses.add();
  const auto noted =
      pending_.ask(r.text, r.hash, r.job.id, asker, r.job.pending < pending_share_, now);
  if (noted == PendingTable::Ask::full)
    return refuse(r.packet, r.from, Reason::names_busy, &r.job, r.text, out);
  if (noted == PendingTable::Ask::waits) return DropReason::none;
  if (noted == PendingTable::Ask::opened) ++r.job.pending;
  if (send_on(r, out)) return DropReason::none;
  pending_.release(r.text, r.hash, [](const PendingTable::Asker&) {});
  --r.job.pending;
  return refuse(r.packet, r.from, Reason::name_unknown, &r.job, r.text, out);
}

// One request for all who ask: to where the name came from, or up. False: there is no way.
bool NameEngine::send_on(Request& r, Outbox& out) {
  const bool declared =
      r.entry != NameStore::kNone && (*store_)[r.entry].declared && (*store_)[r.entry].confirmed;
  const bool down = declared && (*store_)[r.entry].from != r.from;
  const bool up = !declared && r.job.has_parent && r.sender.kind != NameSender::Kind::parent;
  if (!down && !up) return false;
  r.job.counters.forwarded.add();
  Outgoing* const message = add(PacketType::get, r.job.id, r.text, out);
  if (message == nullptr) return true;
  if (up)
    message->to = Outgoing::To::parent;
  else
    message->peer = (*store_)[r.entry].from;
  return true;
}

bool NameEngine::is_from_the_way(const Request& r) const {
  if (r.sender.kind == NameSender::Kind::parent) return true;
  return r.entry != NameStore::kNone && (*store_)[r.entry].declared &&
         (*store_)[r.entry].from == r.from;
}

// Data without a request is dropped: it would fill the cache with what a sender likes.
DropReason NameEngine::on_data(Request& r, Instant now, Outbox& out) {
  if (!is_from_the_way(r) || !pending_.has(r.text, r.hash)) return DropReason::name_unasked;
  const auto info = wire::find_value_info(r.packet.extensions);
  if (why_no_segment(r, info)) return DropReason::bad_name;
  const bool known = r.entry != NameStore::kNone;
  const bool differs = known && !(*store_)[r.entry].info.is_same_segment(*info);
  if (differs && (*store_)[r.entry].declared) {  // another value than was put
    refuse_askers(r, Reason::name_taken, out);
    return DropReason::bad_name;
  }
  // A segment of another value than what is here is passed on alone: its reader says what it got.
  if (!known && !why_of_other_value(r, *info, now))
    r.entry = store_->add(r.text, r.hash, r.job.id, now);
  wire::ValueInfo said = *info;
  if (r.entry != NameStore::kNone && !differs) {
    NameEntry& e = (*store_)[r.entry];
    e.info = *info;
    e.confirmed = true;
    e.expires = e.declared ? std::min(e.expires, end_of(*info, now)) : end_of(*info, now);
    keep(r);
    said = info_of(r.entry, now);
  }
  pending_.release(r.text, r.hash, [&](const PendingTable::Asker& asker) {
    r.job.counters.answered.add();
    Outgoing* const message = add(PacketType::data, r.job.id, r.text, out);
    if (message == nullptr) return;
    address(*message, asker);
    attach(*message, said, r.packet.payload);
  });
  --r.job.pending;
  return DropReason::none;
}

void NameEngine::tell_refusal(const Request& r, const PendingTable::Asker& asker, Reason why,
                              std::uint32_t refused, Outbox& out) {
  Outgoing* const message = add(PacketType::refuse, r.job.id, r.text, out);
  if (message == nullptr) return;
  address(*message, asker);
  message->header.reason = why;
  message->header.slot = refused;
}

bool NameEngine::refuse_askers(const Request& r, Reason why, Outbox& out) {
  const bool asked = pending_.release(r.text, r.hash, [&](const PendingTable::Asker& asker) {
    tell_refusal(r, asker, why, static_cast<std::uint32_t>(PacketType::get), out);
  });
  if (asked) --r.job.pending;
  return asked;
}

DropReason NameEngine::on_refusal(Request& r, Outbox& out) {
  if (!is_from_the_way(r)) return DropReason::name_unasked;
  const wire::Header& h = r.packet.header;
  if (h.slot == static_cast<std::uint32_t>(PacketType::put)) {
    if (r.sender.kind != NameSender::Kind::parent || r.entry == NameStore::kNone ||
        !(*store_)[r.entry].declared)
      return DropReason::name_unasked;
    tell_refusal(r, {(*store_)[r.entry].from, false}, h.reason, h.slot, out);
    if (!(*store_)[r.entry].confirmed) remove(r.entry);
    return DropReason::none;
  }
  return refuse_askers(r, h.reason, out) ? DropReason::none : DropReason::name_unasked;
}

}  // namespace tributary::aggregator
