#include "tools/loadgen/player.h"

#include <cstring>

#include "core/net/checksum.h"
#include "core/wire/integrity.h"
#include "tools/loadgen/traffic/garbage.h"

namespace tributary::loadgen {

using worker::SessionState;

Player::Player(const PlayerOptions& options, const Pattern& pattern, Instant now)
    : options_(options),
      pattern_(pattern),
      session_(options.session, now),
      random_(options.seed),
      wakeup_(now),
      base_port_(options.base_port),
      ops_(options.open_ops) {
  for (worker::Op& op : ops_) free_.push_back(&op);
}

void Player::issue(Instant now) {
  worker::Op& op = *free_.back();
  free_.pop_back();
  op = {};
  op.data = options_.scratch.data();
  op.count =
      std::size_t{options_.op_chunks} * options_.chunk_bytes / wire::size_of(pattern_.dtype());
  op.dtype = pattern_.dtype();
  session_.submit(op, now);
  ++issued_;
  wakeup_ = now;
}

void Player::take_finished() {
  while (worker::Op* op = session_.take_finished()) {
    ++finished_;
    if (op->failure && failure_.empty()) failure_ = op->failure->text;
    free_.push_back(op);
  }
  // A session that leaves calls that a failure.
  if (!leaving_ && session_.failure() && failure_.empty()) failure_ = session_.failure()->text;
}

void Player::leave(Instant now) {
  take_finished();
  leaving_ = true;
  session_.leave(now);
  wakeup_ = now;
}

// START has come.
void Player::start() {
  const wire::StartInfo& info = session_.start_info();
  if (info.chunk_bytes != options_.chunk_bytes) {
    session_.fail_locally("the switch says chunk_bytes " + std::to_string(info.chunk_bytes) +
                          ", the configuration " + std::to_string(options_.chunk_bytes) +
                          "; give both the same file");
    return;
  }
  window_ = info.window;
  base_port_ = info.udp_base_port;
  udp_checksum_ = info.integrity != static_cast<std::uint8_t>(wire::Integrity::crc32c);
  sent_.assign(std::size_t{info.window} * info.shards, Instant());
}

void Player::on_packet(const wire::Packet& packet, Instant now) {
  const bool result = packet.header.type == wire::PacketType::result;
  if (result && random_.chance_ppm(options_.faults.lose_ppm)) {
    ++counts_.lost_received;
    return;
  }
  const SessionState before = session_.state();
  const std::uint64_t results = session_.counters().results.get();
  session_.on_packet(packet, now);
  wakeup_ = now;
  if (before == SessionState::joining && session_.state() == SessionState::running) start();
  if (session_.counters().results.get() != results) note_result(packet, now);
  take_finished();
}

// The session has taken it: it is the first result of a chunk in flight.
void Player::note_result(const wire::Packet& packet, Instant now) {
  const wire::Header& h = packet.header;
  if ((h.flags & wire::kFlagDegraded) != 0) {
    ++counts_.degraded;
  } else if (packet.payload.size() == options_.chunk_bytes &&
             pattern_.is_sum(h.op, h.chunk, packet.payload)) {
    ++counts_.verified;
    counts_.verified_bytes += packet.payload.size();
    latencies_.add(now - sent_[h.shard * window_ + (h.seq & (window_ - 1))]);
  } else {
    if (counts_.wrong++ == 0)
      first_wrong_ = "job " + std::to_string(h.job) + " rank " +
                     std::to_string(options_.session.rank) + ": op " + std::to_string(h.op) +
                     " chunk " + std::to_string(h.chunk) + " is not the sum of all ranks";
  }
}

bool Player::poll(Instant now, FrameSink& out) {
  if (now < wakeup_) return false;
  bool sent = false;
  do {
    if (!out.roomy()) return true;
    session_.poll(now, batch_);
    for (std::size_t k = 0; k < batch_.size(); ++k) {
      if (send(batch_.datagrams()[k], batch_.tag(k), now, out)) continue;
      session_.rejected(batch_, k);
      return true;
    }
    sent = sent || batch_.size() > 0;
  } while (batch_.full());
  take_finished();
  wakeup_ = session_.next_wakeup();
  return sent;
}

bool Player::send(const worker::Datagram& d, const worker::SendBatch::Tag& tag, Instant now,
                  FrameSink& out) {
  const bool contribution = tag.type == wire::PacketType::contribution;
  wire::HeaderV1 h{};
  if (contribution) std::memcpy(&h, d.head.data(), sizeof h);
  const std::span<std::byte> frame = out.frame();
  if (frame.empty()) return false;
  if (contribution && (h.flags & wire::kFlagResend) == 0) sent_[tag.chunk] = now;
  const std::size_t datagram = d.head.size() + d.payload.size();
  if (frame.size() < wire::kUdpPayloadOffset + datagram) {
    ++counts_.no_buffer;
    return true;
  }
  std::byte* const at = frame.data() + wire::kUdpPayloadOffset;
  std::memcpy(at, d.head.data(), d.head.size());
  std::uint16_t sum = wire::ones_complement_sum(d.head);
  if (contribution) {
    const std::span payload(at + d.head.size(), d.payload.size());
    std::uint16_t own = pattern_.write(h.op, h.chunk, options_.session.rank, payload);
    if (random_.chance_ppm(options_.faults.falsify_ppm)) {
      payload.front() ^= std::byte{0x40};
      own = wire::ones_complement_sum(payload);
      ++counts_.falsified;
    }
    sum = wire::ones_complement_add(sum, own);
  }
  if (!udp_checksum_) wire::seal_crc32c(std::span(at, datagram));
  const wire::FrameTemplate t{
      .destination = options_.switch_mac,
      .source = options_.own_mac,
      .vlan_tci = std::nullopt,
      .endpoints = {options_.own_ipv4, options_.switch_ipv4, options_.base_port,
                    static_cast<std::uint16_t>(base_port_ + d.port)},
      .dscp_ecn = 0,
      .udp_checksum = udp_checksum_,
  };
  const std::size_t bytes = wire::write_frame_headers(t, frame, datagram, sum);
  const Faults& faults = options_.faults;
  const bool garbage = contribution && random_.chance_ppm(faults.garbage_ppm);
  const bool duplicate = random_.chance_ppm(faults.duplicate_ppm);
  if (garbage || duplicate) frame_.assign(frame.begin(), frame.begin() + static_cast<long>(bytes));
  if (random_.chance_ppm(faults.lose_ppm))
    ++counts_.lost_sent;
  else
    out.commit(bytes);
  if (duplicate && copy_frame(frame_, out)) ++counts_.duplicated;
  if (garbage) {
    const std::span<std::byte> room = out.frame();
    if (room.size() < bytes) return true;
    out.commit(write_garbage(random_.below(kGarbageKinds), random_, frame_, room));
    ++counts_.garbage;
  }
  return true;
}

bool Player::copy_frame(std::span<const std::byte> frame, FrameSink& out) {
  const std::span<std::byte> room = out.frame();
  if (room.size() < frame.size()) return false;
  std::memcpy(room.data(), frame.data(), frame.size());
  out.commit(frame.size());
  return true;
}

}  // namespace tributary::loadgen
