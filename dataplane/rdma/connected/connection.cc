#include "dataplane/rdma/connected/connection.h"

#include "core/seq.h"
#include "core/wire/extension.h"

namespace tributary::dataplane {

Connection::Connection(const config::JobConfig& config, std::uint32_t of_rank)
    : job(config.id),
      rank(of_rank),
      workers(config.workers),
      lease(config.lease),
      results(config.window),
      window(config.window) {}

std::uint64_t Connection::chunk_of(std::uint32_t seq) const {
  const std::uint64_t base = window.base();
  const std::int64_t ahead = seq_diff(seq, seq_of(base));
  return ahead < 0 && static_cast<std::uint64_t>(-ahead) > base
             ? ~std::uint64_t{0}
             : base + static_cast<std::uint64_t>(ahead);
}

void Connection::describe(wire::PacketType type, wire::Header& h) const {
  h.type = type;
  h.job = job;
  h.epoch = epoch;
  h.origin = rank;
  h.child = child;
  h.fan_in = fan_in;
}

void Connection::describe_chunk(wire::PacketType type, std::uint64_t n, wire::Header& h) const {
  describe(type, h);
  const std::uint32_t chunks = terms.chunks();
  h.op = static_cast<std::uint32_t>(n / chunks);
  h.chunk = static_cast<std::uint32_t>(n % chunks);
  h.seq = seq_of(n);
  h.covered = 1;
}

wire::Packet Connection::join(Room& room) const {
  wire::Header h = header(wire::PacketType::join);
  h.epoch = 0;
  h.child = static_cast<std::uint16_t>(rank);
  h.fan_in = static_cast<std::uint16_t>(workers);
  wire::ExtensionWriter extensions(room);
  extensions.add_nonce(nonce);
  return {h, extensions.bytes(), {}};
}

wire::Packet Connection::leave() const {
  wire::Header h = header(wire::PacketType::leave);
  if (epoch == 0) {
    h.child = static_cast<std::uint16_t>(rank);
    h.fan_in = static_cast<std::uint16_t>(workers);
  }
  h.op = epoch == 0 ? 0 : static_cast<std::uint32_t>(window.base() / terms.chunks());
  return {h, {}, {}};
}

wire::Packet Connection::held() const {
  wire::Header h = header(wire::PacketType::ack);
  h.seq = seq_of(window.base());
  return {h, {}, {}};
}

void Connection::contribute(std::uint64_t n, std::span<const std::byte> data, Room& room,
                            wire::Packet& packet) const {
  wire::Header& h = packet.header;
  describe_chunk(wire::PacketType::contribution, n, h);
  h.flags = h.chunk + 1 == terms.chunks() ? wire::kFlagLast : 0u;
  h.slot = h.seq & (window.window() - 1);
  h.dtype = terms.dtype;
  h.reduce_op = terms.reduce_op;
  const std::size_t size = wire::size_of(terms.dtype);
  h.element_count = static_cast<std::uint16_t>(data.size() / size);
  packet.payload = data;
  if (h.chunk != 0) return;
  wire::ExtensionWriter extensions(room);
  extensions.add(wire::TaskInformation{terms.op_bytes / size, workers, 0});
  packet.extensions = extensions.bytes();
}

wire::Packet Connection::probe(std::uint64_t n) const {
  wire::Packet packet;
  describe_chunk(wire::PacketType::probe, n, packet.header);
  return packet;
}

void Connection::start(const wire::Header& start) {
  epoch = start.epoch;
  child = start.child;
  fan_in = start.fan_in;
  first_seq = start.seq;
  window.start(terms);
  wrote = false;
  state = State::running;
}

}  // namespace tributary::dataplane
