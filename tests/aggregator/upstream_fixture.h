// A leaf switch of a tree, with two of the job's three workers on it, below a hand-made parent; and
// the parent's half, with a hand-made leaf below a real switch.
#pragma once

#include "core/net/udp_peer.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {

inline constexpr std::uint32_t kParentIpv4 = 0x0A4D00FE;
inline constexpr std::uint32_t kLeafIpv4 = 0x0A4D00C9;
inline constexpr std::uint32_t kParentId = 240;
inline constexpr std::uint32_t kLeafId = 201;

class LeafTest : public EngineTest {
 protected:
  void SetUp() override { build_leaf(leaf_job()); }
  static config::JobConfig leaf_job() {
    config::JobConfig job = test_job(3);
    job.children = {{false, 0, 0, "p0", {0}}, {false, 2, 0, "p1", {2}}};
    job.parent = config::ParentConfig{"root", kParentId, kParentIpv4, {2, 9}, "p3", 1, 2};
    job.release = config::Release::returned;  // sums are kept
    return job;
  }
  void build_leaf(const config::JobConfig& job) {
    config::SwitchConfig config = test_switch({job});
    config.id = kLeafId;
    config.ipv4 = kLeafIpv4;
    build(config);
  }

  // Ranks 0 and 2 are children 0 and 1.
  static wire::UdpPeer place(std::uint32_t rank) { return peer(rank == 0 ? 0 : 1); }
  Decision join_worker(std::uint32_t rank, int incarnation = 0) {
    return join(rank, incarnation, place(rank));
  }
  wire::Header from_worker(wire::PacketType type, std::uint32_t rank) const {
    wire::Header h = header(type, rank);
    h.child = rank == 0 ? 0 : 1;
    h.fan_in = 2;
    return h;
  }
  Decision contribute_worker(std::uint32_t rank, std::uint32_t seq, std::int32_t value) {
    wire::Header h = from_worker(wire::PacketType::contribution, rank);
    h.op = seq - first_seq_;
    h.seq = seq;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, place(rank));
  }
  Decision probe(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = from_worker(wire::PacketType::probe, rank);
    h.op = seq - first_seq_;
    h.seq = seq;
    return deliver(h, place(rank));
  }

  static wire::UdpPeer parent() { return {3, 47000, kParentIpv4, std::nullopt, {2, 9}}; }
  wire::Header from_parent(wire::PacketType type, std::uint32_t seq = 0) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = epoch_;
    h.op = seq - first_seq_;
    h.seq = seq;
    return h;
  }
  Decision result(std::uint32_t seq, std::int32_t value, std::uint32_t covered = 3) {
    wire::Header h = from_parent(wire::PacketType::result, seq);
    h.covered = covered;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, parent());
  }
  Decision start(std::uint16_t epoch, std::uint64_t nonce, std::uint32_t seq = 0) {
    std::array<std::byte, 128> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce);
    ext.add(start_info_);
    wire::Header h = from_parent(wire::PacketType::start);
    h.epoch = epoch;
    h.seq = seq;
    h.slot = host_udp_port_;
    h.child = 1;
    h.fan_in = 2;
    return deliver({h, ext.bytes(), {}}, parent());
  }
  static wire::StartInfo settings() {
    wire::StartInfo info;
    info.window = 4;
    info.chunk_bytes = 64;
    info.workers = 3;
    info.lease_ms = 1000;
    info.group_ipv4 = config::job_group_ipv4(kJob);
    info.udp_base_port = config::kDefaultUdpBasePort;
    return info;
  }
  Decision abort_from_parent(wire::Reason reason, std::vector<std::uint32_t> missing) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter ext(room);
    ext.add_missing_ids(missing);
    wire::Header h = from_parent(wire::PacketType::abort);
    h.reason = reason;
    return deliver({h, ext.bytes(), {}}, parent());
  }

  // Messages to the parent in the last call.
  [[nodiscard]] std::vector<Sent> up() const { return to(Outgoing::To::parent); }
  [[nodiscard]] std::vector<Sent> to(Outgoing::To where) const {
    std::vector<Sent> found;
    for (const Sent& s : sent_)
      if (s.to == where) found.push_back(s);
    return found;
  }
  std::uint64_t join_nonce() {
    for (const Sent& s : up())
      if (s.header.type == wire::PacketType::join) return *wire::find_nonce(s.extensions);
    ADD_FAILURE() << "no JOIN went up";
    return 0;
  }
  void run_epoch(std::uint16_t epoch = 500) {
    join_worker(0);
    join_worker(2);
    const std::uint64_t nonce = join_nonce();
    epoch_ = epoch;
    ASSERT_EQ(start(epoch, nonce).verdict, Verdict::answered);
    ASSERT_EQ(sent_.size(), 2u);
  }

  wire::StartInfo start_info_ = settings();  // what the parent was told
  std::uint16_t host_udp_port_ = 0;          // of the completion host, as the parent says
};

// Children: switch 201 with ranks 0 and 2, and rank 1.
class RootTest : public EngineTest {
 protected:
  void SetUp() override { build(test_switch({root_job()})); }
  static config::JobConfig root_job() {
    config::JobConfig job = test_job(3);
    job.children = {{true, kLeafId, kLeafIpv4, "p0", {0, 2}}, {false, 1, 0, "p1", {1}}};
    return job;
  }
  static wire::UdpPeer leaf() { return {0, 47000, kLeafIpv4, std::nullopt, {2, 1}}; }
  static wire::UdpPeer worker() { return peer(1); }

  wire::Header from_leaf(wire::PacketType type) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = type == wire::PacketType::join ? std::uint16_t{0} : epoch_;
    h.origin = kLeafId;
    h.child = 0;
    h.fan_in = 2;
    if (type == wire::PacketType::join) {
      h.flags = wire::kFlagCompleteSubtree;
      h.covered = 2;
    }
    return h;
  }
  Decision join_leaf(std::uint64_t nonce = 1, std::uint32_t covered = 2) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(nonce);
    wire::Header h = from_leaf(wire::PacketType::join);
    h.covered = covered;
    return deliver({h, ext.bytes(), {}}, leaf());
  }
  void run_epoch() {
    join_leaf();
    join(1);
    ASSERT_EQ(sent_.size(), 2u);
    epoch_ = sent_[0].header.epoch;
  }
  wire::Header sum_header(std::uint32_t seq) const {
    wire::Header h = from_leaf(wire::PacketType::aggregate);
    h.op = h.seq = seq;
    h.covered = 2;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast | wire::kFlagCompleteSubtree;
    return h;
  }
  Decision aggregate(const wire::Header& h, std::int32_t value) {
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, leaf());
  }
  Decision contribution(std::uint32_t seq, std::int32_t value) {
    wire::Header h = data_header(1, seq, 1);
    h.fan_in = 2;
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, worker());
  }
};

}  // namespace tributary::aggregator
