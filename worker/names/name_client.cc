#include "worker/names/name_client.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "config/model/switch_config.h"
#include "worker/transport/seal.h"

namespace tributary::worker {

using wire::DataName;
using wire::PacketType;
using wire::Reason;

namespace {

constexpr std::size_t kMostReplies = 256;

std::uint32_t segments_of(std::uint64_t bytes, std::uint32_t segment_bytes) {
  return static_cast<std::uint32_t>(
      std::max<std::uint64_t>(1, (bytes + segment_bytes - 1) / segment_bytes));
}

// The same value; segments may differ.
bool same_value(const DataName& a, const DataName& b) {
  return a.job == b.job && a.version == b.version && a.worker == b.worker && a.run == b.run &&
         a.tensor == b.tensor;
}

Duration retry_after(int tries) {
  return NameClient::kFirstRetry * (1 << std::min(tries, NameClient::kMostDoublings));
}

PacketType type_of(NameCall::Kind kind) {
  return kind == NameCall::Kind::put ? PacketType::put : PacketType::get;
}

}  // namespace

std::span<const std::byte> NameClient::segment_of(const std::vector<std::byte>& value,
                                                  std::uint32_t segment_bytes,
                                                  std::uint32_t segment) {
  const std::size_t begin = std::min(value.size(), std::size_t{segment} * segment_bytes);
  return std::span(value).subspan(begin,
                                  std::min<std::size_t>(segment_bytes, value.size() - begin));
}

void NameClient::start(std::shared_ptr<NameCall> call, Instant now) {
  Transfer& t = transfers_.emplace_back();
  t.call = std::move(call);
  t.deadline = now + t.call->limit;
  wire::parse_name(t.call->name, t.name);
  if (t.call->kind == NameCall::Kind::put) {
    if (!begin_put(t)) finish(transfers_.size() - 1, t.call->failure);
  } else if (take_own(t)) {
    finish(transfers_.size() - 1, {});
  } else if (t.name.segment) {
    t.next = *t.name.segment;
  }
}

bool NameClient::begin_put(Transfer& t) {
  const auto& value = t.call->value;
  const auto fail = [&](Failure why) {
    t.call->failure = std::move(why);
    return false;
  };
  if (identity_.segment_bytes == 0 || identity_.segment_bytes > config::kMaxChunkBytes)
    return fail(name_refused(*t.call, Reason::names_off));
  t.segment_bytes = identity_.segment_bytes;
  if (segments_of(value.size(), t.segment_bytes) > wire::kMaxSegments ||
      value.size() > kMaxValueBytes)
    return fail(name_failed(*t.call, "the value is too large; allowed: 4 GiB"));
  const auto before = published_.find(t.call->name);
  if (t.call->digest == 0) t.call->digest = xxh64(value);
  if (before != published_.end()) {
    if (before->second->value == value) return true;
    return fail(name_refused(*t.call, Reason::name_taken));
  }
  if (kept_bytes_ + value.size() > kMostKept)
    return fail(name_failed(*t.call, "this process keeps " + std::to_string(kept_bytes_) +
                                         " bytes of values already; allowed: 1 GiB in all"));
  kept_bytes_ += value.size();
  published_[t.call->name] = std::make_shared<Published>(Published{
      value, t.segment_bytes, segments_of(value.size(), t.segment_bytes), t.call->digest});
  t.publishes = true;
  return true;
}

// Takes what this endpoint has put itself: a switch that has lost it would ask here.
bool NameClient::take_own(Transfer& t) {
  const auto own = published_.find(value_name(t.name));
  if (own == published_.end()) return false;
  const Published& p = *own->second;
  if (!t.name.segment) {
    t.call->value = p.value;
    return true;
  }
  if (*t.name.segment >= p.segments) return false;
  const auto part = segment_of(p.value, p.segment_bytes, *t.name.segment);
  t.call->value.assign(part.begin(), part.end());
  return true;
}

void NameClient::finish(std::size_t at, std::optional<Failure> failure) {
  Transfer& t = transfers_[at];
  t.call->failure = std::move(failure);
  if (t.call->failure && t.publishes) {
    kept_bytes_ -= t.call->value.size();
    published_.erase(t.call->name);
  }
  finished_.push_back(std::move(t.call));
  transfers_.erase(transfers_.begin() + static_cast<std::ptrdiff_t>(at));
}

std::shared_ptr<NameCall> NameClient::take_finished() {
  if (finished_.empty()) return nullptr;
  auto call = std::move(finished_.front());
  finished_.pop_front();
  return call;
}

void NameClient::fail_all(const std::string& why) {
  while (!transfers_.empty()) finish(0, name_failed(*transfers_.front().call, why));
}

// Receiving --------------------------------------------------------------------------------------

void NameClient::on_packet(const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  const auto text = wire::find_name(packet.extensions);
  DataName name;
  if (!text || wire::parse_wire_name(*text, name) != nullptr || name.job != identity_.job) return;
  if (h.type == PacketType::get) return serve(name, *text);
  for (std::size_t i = transfers_.size(); i > 0; --i) {
    Transfer& t = transfers_[i - 1];
    if (!same_value(t.name, name)) continue;
    const bool puts = t.call->kind == NameCall::Kind::put;
    if (h.type == PacketType::stored && puts && is_of_put(t, *name.segment, packet))
      land(t, *name.segment);
    if (h.type == PacketType::data && !puts) on_data(t, name, packet);
    const bool refused = h.type == PacketType::refuse &&
                         h.slot == static_cast<std::uint32_t>(type_of(t.call->kind)) &&
                         on_refusal(t, name, h.reason, now);
    if (refused)
      finish(i - 1, name_refused(*t.call, h.reason));
    else if (t.left == 0 || t.call->failure)
      finish(i - 1, t.call->failure);
  }
}

// The answer to an earlier put of another value may come late.
bool NameClient::is_of_put(const Transfer& t, std::uint32_t segment, const wire::Packet& packet) {
  const auto info = wire::find_value_info(packet.extensions);
  if (!info || segment >= segments_of(t.call->value.size(), t.segment_bytes)) return false;
  return info->whole == t.call->digest &&
         info->digest == xxh64(segment_of(t.call->value, t.segment_bytes, segment));
}

// False: nothing waits for that segment.
bool NameClient::land(Transfer& t, std::uint32_t segment) {
  const auto flight = std::find_if(t.flights.begin(), t.flights.end(),
                                   [&](const Flight& f) { return f.segment == segment; });
  if (flight == t.flights.end()) return false;
  t.flights.erase(flight);
  --t.left;
  return true;
}

bool NameClient::on_refusal(Transfer& t, const DataName& name, Reason reason, Instant now) {
  const auto flight = std::find_if(t.flights.begin(), t.flights.end(),
                                   [&](const Flight& f) { return f.segment == *name.segment; });
  if (flight == t.flights.end()) return false;
  if (reason != Reason::names_busy) return true;
  t.last_refusal = reason;
  flight->due = now + retry_after(flight->tries);
  return false;
}

// The first segment says how long the value is. False: it contradicts itself.
bool NameClient::learn(Transfer& t, const wire::ValueInfo& info, std::size_t payload) {
  t.value = info;
  t.segment_bytes = static_cast<std::uint32_t>(payload);
  if (info.bytes > kMaxValueBytes) {
    t.call->failure = name_failed(
        *t.call, "the value has " + std::to_string(info.bytes) + " bytes; allowed: 4 GiB");
    return false;
  }
  const bool sound =
      info.segments != 0 && info.segments <= wire::kMaxSegments &&
      (info.segments == 1
           ? info.bytes == payload
           : payload != 0 && segments_of(info.bytes, t.segment_bytes) == info.segments);
  if (!sound) {
    t.call->failure = name_failed(*t.call, "the answer contradicts itself about its length");
    return false;
  }
  try {
    t.call->value.resize(info.bytes);
  } catch (const std::bad_alloc&) {
    t.call->failure =
        name_failed(*t.call, "no memory for its " + std::to_string(info.bytes) + " bytes");
    return false;
  }
  t.left = info.segments;
  return true;
}

bool NameClient::place(Transfer& t, std::uint32_t segment, std::span<const std::byte> payload) {
  const auto room = segment_of(t.call->value, t.segment_bytes, segment);
  if (room.size() != payload.size()) return false;
  if (!payload.empty())
    std::memcpy(t.call->value.data() + std::size_t{segment} * t.segment_bytes, payload.data(),
                payload.size());
  return true;
}

// Each segment is whole; all of them have to be of the value that was put, and in their places.
// Most of the digest is worked out as they come.
void NameClient::check_whole(Transfer& t) {
  std::uint32_t first_open = t.left == 0 ? t.value.segments : t.next;
  for (const Flight& f : t.flights) first_open = std::min(first_open, f.segment);
  const std::size_t end = std::min(t.call->value.size(), std::size_t{first_open} * t.segment_bytes);
  t.arrived.add(std::span(t.call->value).subspan(t.digested, end - t.digested));
  t.digested = end;
  if (t.left == 0 && t.arrived.value() != t.value.whole)
    t.call->failure =
        name_failed(*t.call,
                    "what came has another digest than the value that was put; its segments are of "
                    "more than one value, or damaged");
}

void NameClient::on_data(Transfer& t, const DataName& name, const wire::Packet& packet) {
  const auto info = wire::find_value_info(packet.extensions);
  const std::uint32_t segment = *name.segment;
  if (!info || xxh64(packet.payload) != info->digest) return;
  const bool asked = std::any_of(t.flights.begin(), t.flights.end(),
                                 [&](const Flight& f) { return f.segment == segment; });
  if (!asked) return;
  if (t.name.segment) {
    t.call->value.assign(packet.payload.begin(), packet.payload.end());
    land(t, segment);
    return;
  }
  if (t.value.segments == 0 && !learn(t, *info, packet.payload.size())) return;
  if (!info->is_of_same_value(t.value)) {
    t.call->failure = name_failed(*t.call, "segment " + std::to_string(segment) +
                                               " is of another value than the ones before");
    return;
  }
  if (!place(t, segment, packet.payload)) return;
  land(t, segment);
  if (t.value.whole != 0) check_whole(t);
}

void NameClient::serve(const DataName& name, std::string_view text) {
  if (replies_.size() >= kMostReplies) return;
  const auto found = published_.find(value_name(name));
  const bool has = found != published_.end() && *name.segment < found->second->segments;
  replies_.push_back({std::string(text), has ? found->second : nullptr});
}

// Sending ----------------------------------------------------------------------------------------

void NameClient::put(NameBatch& batch, PacketType type, std::string_view name,
                     const wire::ValueInfo* info, std::span<const std::byte> payload,
                     Reason reason) {
  std::array<std::byte, wire::kNameExtensionBytes> room;
  wire::ExtensionWriter extensions(room);
  wire::add_name(extensions, name);
  wire::Header h;
  h.type = type;
  h.job = identity_.job;
  h.epoch = identity_.epoch;
  h.origin = identity_.origin;
  h.child = identity_.child;
  h.fan_in = identity_.fan_in;
  h.reason = reason;
  if (type == PacketType::refuse) h.slot = static_cast<std::uint32_t>(PacketType::get);
  if (info != nullptr) {
    wire::add_value_info(extensions, *info);
    h.dtype = wire::DType::uint8;
    h.element_count = static_cast<std::uint16_t>(payload.size());
  }
  if (identity_.crc32c) extensions.add_crc32c_placeholder();
  const std::span<std::byte> head = batch.head();
  const std::size_t bytes = wire::serialize(h, extensions.bytes(), head);
  if (identity_.crc32c) seal(head.first(bytes), payload);
  batch.add(bytes, payload, identity_.crc32c);
}

void NameClient::send_replies(NameBatch& batch) {
  sending_.clear();
  for (; !replies_.empty() && !batch.full(); replies_.pop_front()) {
    const Reply& reply = replies_.front();
    if (!reply.value) {
      put(batch, PacketType::refuse, reply.text, nullptr, {}, Reason::name_unknown);
      continue;
    }
    wire::DataName name;
    wire::parse_wire_name(reply.text, name);
    const auto payload = segment_of(reply.value->value, reply.value->segment_bytes, *name.segment);
    const wire::ValueInfo info{xxh64(payload), reply.value->value.size(), reply.value->segments,
                               reply.value->digest, 0};
    put(batch, PacketType::data, reply.text, &info, payload);
    sending_.push_back(reply.value);
  }
}

void NameClient::send_segment(const Transfer& t, std::uint32_t segment, NameBatch& batch) {
  wire::NameBuffer room;
  DataName name = t.name;
  name.segment = segment;
  const std::string_view text = wire::write_name(name, room);
  if (t.call->kind == NameCall::Kind::get) return put(batch, PacketType::get, text, nullptr, {});
  const auto payload = segment_of(t.call->value, t.segment_bytes, segment);
  const wire::ValueInfo info{xxh64(payload), t.call->value.size(),
                             segments_of(t.call->value.size(), t.segment_bytes), t.call->digest, 0};
  put(batch, PacketType::put, text, &info, payload);
}

// A get learns from the first segment how many there are. A put learns from its first whether the
// name is taken: of two that race, one then writes none of the others.
std::size_t NameClient::wanted_flights(const Transfer& t) {
  const bool one = t.call->kind == NameCall::Kind::get
                       ? t.value.segments == 0
                       : t.left == segments_of(t.call->value.size(), t.segment_bytes);
  return one ? 1 : std::min<std::size_t>(kWindow, t.left);
}

void NameClient::send_due(Transfer& t, Instant now, NameBatch& batch) {
  for (Flight& f : t.flights) {
    if (f.due > now) continue;
    if (batch.full()) return;
    send_segment(t, f.segment, batch);
    f.due = now + retry_after(++f.tries);
  }
  if (t.call->kind == NameCall::Kind::put && t.next == 0 && t.flights.empty())
    t.left = segments_of(t.call->value.size(), t.segment_bytes);
  while (!batch.full() && t.flights.size() < wanted_flights(t)) {
    send_segment(t, t.next, batch);
    t.flights.push_back({t.next++, now + retry_after(0), 0});
  }
}

void NameClient::poll(Instant now, NameBatch& batch) {
  batch.clear();
  send_replies(batch);
  for (std::size_t i = transfers_.size(); i > 0; --i) {
    Transfer& t = transfers_[i - 1];
    if (now >= t.deadline)
      finish(i - 1, name_unanswered(*t.call, t.last_refusal));
    else
      send_due(t, now, batch);
  }
}

Instant NameClient::next_wakeup() const {
  if (!replies_.empty() || !finished_.empty()) return Instant();
  Instant at = Instant::max();
  for (const Transfer& t : transfers_) {
    at = std::min(at, t.deadline);
    if (t.flights.size() < wanted_flights(t)) return Instant();
    for (const Flight& f : t.flights) at = std::min(at, f.due);
  }
  return at;
}

}  // namespace tributary::worker
