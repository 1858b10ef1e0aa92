// The aggregation engine under a sequence of packets and steps of time, decoded from the input:
// honest members, members that lie in one field, strangers, and raw bytes. The model checks every
// answer; in the end all leave, and nothing may be held.
#include <array>
#include <vector>

#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"
#include "tests/fuzz/engine_model.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using aggregator::Engine;
using aggregator::EngineStart;
using aggregator::Outbox;
using wire::PacketType;

constexpr std::size_t kMostSteps = 400;

config::SwitchConfig draw_config(Input& in) {
  config::SwitchConfig c;
  c.ipv4 = 0x0A4D00FE;
  c.ports = {{"a", "net_null0"}, {"b", "net_null1"}, {"c", "net_null2"}};
  const std::uint32_t jobs = in.between(1, 2);
  for (std::uint32_t i = 0; i < jobs; ++i) {
    config::JobConfig job;
    job.id = i + 1;
    job.name = std::to_string(job.id);
    job.workers = in.between(1, 4);
    job.window = 1u << in.below(4);
    job.chunk_bytes = 8 * in.between(1, 4);
    job.shards = static_cast<std::uint8_t>(in.between(1, 2));
    job.deadline = Duration::ms(in.between(200, 400));
    job.lease = Duration::ms(in.between(300, 500));
    job.arithmetic = wire::Arithmetic::modular;  // as the model sums
    if (in.below(4) == 0) job.members = {{0, "a"}};
    c.jobs.push_back(job);
  }
  return c;
}

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        config_(draw_config(in)),
        first_seq_(in.pick<std::uint32_t>({0, 0xFFFFFFF8, 0x7FFFFFFC, 5})),
        engine_(config_, dataplane::kUdpAddresses,
                EngineStart{in.pick<std::uint16_t>({1, 0xFFFF, 0}), first_seq_}),
        out_(engine_.outbox_capacity()),
        model_(engine_) {
    for (const auto& job : config_.jobs)
      next_.emplace_back(std::size_t{job.workers} * job.shards, first_seq_);
  }

  void run() {
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      step();
      model_.check(now_);
    }
    everybody_leaves();
  }

 private:
  void step();
  void everybody_leaves();
  void expire();
  void raw();
  void contribute(bool lie);

  [[nodiscard]] std::size_t draw_job() {
    return in_.below(static_cast<std::uint32_t>(config_.jobs.size()));
  }
  [[nodiscard]] static wire::UdpPeer peer(std::size_t job, std::uint32_t rank,
                                          std::uint32_t variant = 0) {
    wire::UdpPeer p;
    p.port = static_cast<std::uint16_t>((rank + variant) % 3);
    p.udp_port = static_cast<std::uint16_t>(40000 + variant);
    p.ipv4 = 0x0A4D0001 + rank + (static_cast<std::uint32_t>(job) << 8);
    if (rank == 2) p.vlan_tci = 5;
    p.mac = {2, 0, 0, 0, static_cast<std::uint8_t>(job), static_cast<std::uint8_t>(rank)};
    return p;
  }
  [[nodiscard]] wire::Header header(PacketType type, std::size_t job, std::uint32_t rank) const {
    wire::Header h;
    h.type = type;
    h.job = config_.jobs[job].id;
    h.epoch = type == PacketType::join ? std::uint16_t{0} : model_.epoch(job);
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.fan_in = static_cast<std::uint16_t>(config_.jobs[job].workers);
    return h;
  }
  // Through the wire format, as a sender's packet would come. False when that cannot be parsed.
  bool deliver(const wire::Header& h, std::span<const std::byte> extensions,
               std::span<const std::byte> payload, const Endpoint& from);
  void deliver_bytes(std::span<const std::byte> packet, const Endpoint& from);
  void one_lie(wire::Header& h);
  [[nodiscard]] std::uint32_t odd_seq(std::uint32_t near);
  std::uint32_t& next(std::size_t job, std::uint32_t rank, std::uint8_t shard) {
    return next_[job][std::size_t{rank} * config_.jobs[job].shards + shard];
  }

  Input& in_;
  config::SwitchConfig config_;
  std::uint32_t first_seq_;
  Engine engine_;
  Outbox out_;
  EngineModel model_;
  Instant now_ = Instant::from_ns(1);
  std::vector<std::vector<std::uint32_t>> next_;  // by job: what each rank and shard sends next
};

bool Play::deliver(const wire::Header& h, std::span<const std::byte> extensions,
                   std::span<const std::byte> payload, const Endpoint& from) {
  std::vector<std::byte> packet(wire::serialized_bytes(extensions.size()));
  if (wire::serialize(h, extensions, packet) == 0) return false;
  packet.insert(packet.end(), payload.begin(), payload.end());
  deliver_bytes(packet, from);
  return true;
}

void Play::deliver_bytes(std::span<const std::byte> bytes, const Endpoint& from) {
  const std::vector<std::byte> packet(bytes.begin(), bytes.end());
  const auto parsed = wire::parse(packet);
  const auto* p = std::get_if<wire::Packet>(&parsed);
  if (p == nullptr) return;
  out_.clear();
  const auto decision = engine_.on_packet(*p, from, now_, out_);
  model_.after_packet(*p, decision, out_);
  for (const auto& message : out_.items()) {
    if (message.header.type != PacketType::start) continue;
    for (std::size_t job = 0; job < config_.jobs.size(); ++job)
      if (config_.jobs[job].id == message.header.job &&
          decision.verdict != aggregator::Verdict::refused)
        std::fill(next_[job].begin(), next_[job].end(), message.header.seq);
  }
}

std::uint32_t Play::odd_seq(std::uint32_t near) {
  return near + in_.pick<std::uint32_t>({0, 1, 2, 7, 8, 16, ~0u, ~1u, ~7u, ~15u, 0x7FFFFFFF,
                                         0x80000000, 0x80000001, in_.u32()});
}

void Play::one_lie(wire::Header& h) {
  switch (in_.below(16)) {
    case 0: h.epoch = static_cast<std::uint16_t>(h.epoch + in_.between(1, 3) - 2); break;
    case 1: h.seq = odd_seq(h.seq); break;
    case 2: h.origin = in_.below(6); break;
    case 3: h.child = static_cast<std::uint16_t>(in_.below(6)); break;
    case 4: h.origin = h.child = static_cast<std::uint16_t>(in_.below(6)); break;
    case 5: h.shard = static_cast<std::uint8_t>(in_.below(4)); break;
    case 6: h.job = in_.below(4); break;
    case 7: h.fan_in = static_cast<std::uint16_t>(in_.below(6)); break;
    case 8: h.op += in_.between(1, 2); break;
    case 9: h.reduce_op = static_cast<wire::ReduceOp>(in_.between(1, wire::kReduceOpMax)); break;
    case 10: h.collective = static_cast<wire::Collective>(in_.below(6)); break;
    case 11: h.flags ^= 1u << in_.below(24); break;
    case 12: h.attempt = static_cast<std::uint8_t>(in_.below(3)); break;
    case 13: h.plane = static_cast<std::uint8_t>(in_.below(16)); break;
    case 14: h.encoding = static_cast<wire::Encoding>(in_.below(3)); break;
    default: h.type = static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)); break;
  }
}

// The op and chunk of a seq are the same on every honest rank.
void Play::contribute(bool lie) {
  const std::size_t job = draw_job();
  const auto& config = config_.jobs[job];
  const std::uint32_t rank = in_.below(config.workers);
  const auto shard = static_cast<std::uint8_t>(in_.below(config.shards));
  wire::Header h = header(PacketType::contribution, job, rank);
  std::uint32_t& seq = next(job, rank, shard);
  const bool again = in_.below(4) == 0;
  h.seq = again ? seq - 1 : seq;
  if (!again) ++seq;
  h.shard = shard;
  h.op = h.seq - first_seq_;
  h.covered = 1;
  h.dtype = wire::DType::int32;
  h.flags = wire::kFlagLast | (again ? wire::kFlagResend : 0u);
  const std::size_t count = 1 + h.op % (config.chunk_bytes / 4);
  h.element_count = static_cast<std::uint16_t>(count);
  std::array<std::byte, 32> room;
  wire::ExtensionWriter extensions(room);
  extensions.add(wire::TaskInformation{count, config.workers, 0});
  if (lie) one_lie(h);
  const auto payload = in_.block(h.element_count * wire::size_of(h.dtype));
  deliver(h, extensions.bytes(), payload, peer(job, rank, lie && in_.below(8) == 0 ? 1 : 0));
}

void Play::raw() {
  const std::size_t job = draw_job();
  const std::uint32_t rank = in_.below(4);
  wire::Header h = header(static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)), job, rank);
  h.seq = in_.u32();
  h.dtype = static_cast<wire::DType>(in_.below(wire::kDTypeMax + 1));
  h.element_count = static_cast<std::uint16_t>(in_.below(20));
  if (in_.flag()) one_lie(h);
  std::vector<std::byte> area = in_.block(4 * in_.below(12));
  deliver(h, area, in_.block(h.element_count * wire::size_of(h.dtype)), peer(job, rank));
}

void Play::expire() {
  out_.clear();
  engine_.expire(now_, out_);
  model_.after_expiry(out_);
}

void Play::step() {
  const std::uint32_t what = in_.below(16);
  if (what < 6) return contribute(false);
  if (what < 8) return contribute(true);
  if (what == 8) return raw();
  if (what == 9) {
    now_ = now_ + Duration::ms(in_.between(1, 250));
    return expire();
  }
  const std::size_t job = draw_job();
  const std::uint32_t rank = in_.below(config_.jobs[job].workers);
  const bool lie = in_.below(8) == 0;
  constexpr PacketType kTypes[] = {PacketType::join, PacketType::join,  PacketType::probe,
                                   PacketType::ack,  PacketType::lease, PacketType::leave};
  wire::Header h = header(kTypes[what - 10], job, rank);
  h.shard = static_cast<std::uint8_t>(in_.below(config_.jobs[job].shards));
  std::array<std::byte, 32> room;
  wire::ExtensionWriter extensions(room);
  if (h.type == PacketType::join) extensions.add_nonce(1000 * rank + in_.below(3));
  if (h.type == PacketType::probe) h.seq = next(job, rank, h.shard) - in_.below(4);
  if (h.type == PacketType::ack) h.seq = next(job, rank, h.shard) - in_.below(8);
  if (h.type == PacketType::probe) h.op = h.seq - first_seq_;
  if (lie) one_lie(h);
  deliver(h, extensions.bytes(), {}, peer(job, rank, lie ? in_.below(3) : 0));
}

// Ranks that are still bound leave from where they joined; then no time may free anything more.
void Play::everybody_leaves() {
  const auto all = engine_.job_status(now_);
  for (std::size_t job = 0; job < all.size(); ++job)
    for (const auto& member : all[job].members) {
      if (!member.present) continue;
      deliver(header(PacketType::leave, job, member.rank), {}, {}, member.peer);
      model_.check(now_);
    }
  for (int round = 0; round < 2; ++round) {
    for (std::size_t job = 0; job < all.size(); ++job) {
      const auto& c = engine_.counters(job);
      FUZZ_CHECK(c.slots_open.get() == 0 && c.members.get() == 0);
      FUZZ_CHECK(c.results_retained.get() == 0);
    }
    FUZZ_CHECK(engine_.slot_status(now_, 100).empty());
    now_ = now_ + Duration::seconds(60);
    expire();
    FUZZ_CHECK(out_.items().empty());
    model_.check(now_);
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
