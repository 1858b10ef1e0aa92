// A switch between two others: the engine of a switch with a parent and, as children, a worker and
// a switch. Honest neighbours, neighbours that lie in one field, strangers and raw bytes, from
// above and from below. A plain account of what went in says what may come out; in the end nothing
// may be held.
#include <array>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "aggregator/chunk/contribution.h"
#include "aggregator/engine/engine.h"
#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "core/wire/rank_bitmap.h"
#include "dataplane/udp/address_book.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using aggregator::Engine;
using aggregator::EngineStart;
using aggregator::Outbox;
using aggregator::Outgoing;
using aggregator::Verdict;
using wire::PacketType;

constexpr std::size_t kMostSteps = 400;
constexpr std::uint32_t kJob = 7;
constexpr std::uint32_t kOwnId = 201;
constexpr std::uint32_t kBelowId = 250;
constexpr std::uint32_t kWorkers = 5;  // 0 here, 1 and 2 below the switch below, 3 and 4 elsewhere
constexpr std::uint32_t kParentIpv4 = 0x0A4D00FE;
constexpr std::uint32_t kBelowIpv4 = 0x0A4D00FA;
enum Neighbour : std::uint32_t { kWorkerChild = 0, kSwitchChild = 1, kParent = 2, kStranger = 3 };

config::SwitchConfig draw_config(Input& in) {
  config::JobConfig job;
  job.id = kJob;
  job.name = "tree";
  job.workers = kWorkers;
  job.window = 1u << in.below(4);
  job.chunk_bytes = 8 * in.between(1, 4);
  job.shards = static_cast<std::uint8_t>(in.between(1, 2));
  job.deadline = Duration::ms(in.between(200, 400));
  job.lease = Duration::ms(in.between(300, 500));
  job.arithmetic = wire::Arithmetic::modular;
  job.order = in.flag() ? wire::Order::reproducible : wire::Order::fast;
  job.release = in.flag() ? config::Release::returned : config::Release::sent;
  job.on_deadline = in.flag() ? config::OnDeadline::escalate : config::OnDeadline::abort;
  if (in.flag()) job.slots = config::SlotMode::dynamic;
  if (job.slots == config::SlotMode::dynamic && in.flag()) job.quota = 1;
  job.children = {{false, 0, 0, "a", {0}}, {true, kBelowId, kBelowIpv4, "b", {1, 2}}};
  job.parent = config::ParentConfig{"root", 240, kParentIpv4, {2, 9}, "up", 1, 3};
  config::SwitchConfig c;
  c.id = kOwnId;
  c.ipv4 = 0x0A4D00C9;
  c.ports = {{"a", "net_null0"}, {"b", "net_null1"}, {"up", "net_null2"}, {"x", "net_null3"}};
  c.jobs = {job};
  return c;
}

// What happened to a chunk in the running epoch.
struct Chunk {
  std::set<std::uint32_t> children;
  std::vector<std::byte> sum;     // as it went up
  std::vector<std::byte> result;  // as it came down
  bool went_up = false;
  bool came_down = false;
  bool escalated = false;
};

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        config_(draw_config(in)),
        engine_(config_, dataplane::kUdpAddresses, EngineStart{1, 0, {}, 77}),
        out_(engine_.outbox_capacity()) {}

  void run() {
    if (in_.below(4) != 0) form_epoch();
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      step();
      check();
    }
    everybody_leaves();
  }

 private:
  void step();
  void from_child(std::uint32_t child, bool lie);
  void passed_on(bool lie);
  void check_upward(const Outgoing& m, Chunk& chunk) const;
  void from_parent(bool lie);
  void send_start(bool lie);
  void form_epoch();
  // One that ends an epoch is rarely meant.
  PacketType unless_it_ends(PacketType type, PacketType other) {
    const bool ends = type == PacketType::leave || type == PacketType::abort ||
                      type == PacketType::nack || type == PacketType::join;
    return ends && in_.below(8) != 0 ? other : type;
  }
  void raw();
  void one_lie(wire::Header& h);
  void everybody_leaves();
  void check() const;
  void deliver(const wire::Header& h, std::span<const std::byte> extensions,
               std::span<const std::byte> payload, std::uint32_t from);
  void note(const wire::Packet& packet, aggregator::Decision decision, std::uint32_t from);
  void note_sent();
  void expire(Duration time) {
    now_ = now_ + time;
    out_.clear();
    engine_.expire(now_, out_);
    note_sent();
  }

  [[nodiscard]] const config::JobConfig& job() const { return config_.jobs[0]; }
  static wire::UdpPeer peer(std::uint32_t who) {
    switch (who) {
      case kWorkerChild: return {0, 40000, 0x0A4D0001, std::nullopt, {2, 0, 0, 0, 0, 1}};
      case kSwitchChild: return {1, 47000, kBelowIpv4, std::nullopt, {2, 1}};
      case kParent: return {2, 47000, kParentIpv4, std::nullopt, {2, 9}};
      default: return {3, 47000, kParentIpv4, std::nullopt, {2, 9}};
    }
  }
  wire::Header header(PacketType type, std::uint32_t from) const {
    wire::Header h;
    h.type = type;
    h.job = kJob;
    h.epoch = type == PacketType::join ? std::uint16_t{0} : epoch_;
    if (from >= kParent) return h;
    h.origin = from == kWorkerChild ? 0 : kBelowId;
    h.child = static_cast<std::uint16_t>(from);
    h.fan_in = 2;
    if (type != PacketType::join) return h;
    if (from == kWorkerChild) h.fan_in = kWorkers;
    if (from == kSwitchChild) h.flags = wire::kFlagCompleteSubtree;
    h.covered = from == kWorkerChild ? 0 : 2;
    return h;
  }
  // Neighbours mostly agree what a chunk is.
  void describe(wire::Header& h) const {
    h.op = h.seq;
    h.dtype = wire::DType::int32;
    h.flags |= wire::kFlagLast;
    h.element_count = static_cast<std::uint16_t>(1 + h.seq % (job().chunk_bytes / 4));
    if (h.seq % 8 == 7) h.collective = wire::Collective::broadcast;
  }

  Input& in_;
  config::SwitchConfig config_;
  Engine engine_;
  Outbox out_;
  Instant now_ = Instant::from_ns(1);
  std::uint16_t epoch_ = 0;  // that runs here; 0: none
  std::uint16_t next_epoch_ = 1;
  std::uint64_t asked_with_ = 0;  // nonce of the last JOIN that went up
  std::array<std::uint32_t, 3> next_{};
  std::map<std::pair<std::uint8_t, std::uint32_t>, Chunk> chunks_;
};

void Play::deliver(const wire::Header& h, std::span<const std::byte> extensions,
                   std::span<const std::byte> payload, std::uint32_t from) {
  std::vector<std::byte> bytes(wire::serialized_bytes(extensions.size()));
  if (wire::serialize(h, extensions, bytes) == 0) return;
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const auto parsed = wire::parse(bytes);
  const auto* packet = std::get_if<wire::Packet>(&parsed);
  if (packet == nullptr) return;
  out_.clear();
  const auto decision = engine_.on_packet(*packet, peer(from), now_, out_);
  note(*packet, decision, from);
  note_sent();
}

void Play::note(const wire::Packet& packet, aggregator::Decision decision, std::uint32_t from) {
  const wire::Header& h = packet.header;
  const Verdict v = decision.verdict;
  // Path probes (docs/protocol/exchange.md) are anyone's, and change nothing.
  const bool asks_the_way = h.type == PacketType::probe && h.epoch == 0;
  if (from == kStranger)
    FUZZ_CHECK(v == Verdict::dropped || v == Verdict::refused ||
               (asks_the_way && (v == Verdict::answered || v == Verdict::noted)));
  if (v == Verdict::completed) {
    // Rule 5: only the parent's result completes a chunk, once.
    FUZZ_CHECK(from == kParent && h.type == PacketType::result && h.epoch == epoch_);
    Chunk& chunk = chunks_[{h.shard, h.seq}];
    FUZZ_CHECK(!chunk.came_down);
    FUZZ_CHECK(chunk.went_up || chunk.escalated || h.collective == wire::Collective::broadcast ||
               h.collective == wire::Collective::all_gather);
    chunk.came_down = true;
    chunk.result.assign(packet.payload.begin(), packet.payload.end());
  }
  if (v != Verdict::opened && v != Verdict::folded && v != Verdict::sent_up) return;
  FUZZ_CHECK(from == h.child && h.epoch == epoch_ && epoch_ != 0);
  // T6: only a worker's own data and a switch's whole sum are added to anything.
  FUZZ_CHECK(h.type == (from == kWorkerChild ? PacketType::contribution : PacketType::aggregate));
  Chunk& chunk = chunks_[{h.shard, h.seq}];
  FUZZ_CHECK(!chunk.went_up && chunk.children.insert(from).second);  // rule 7
}

// Rule 10: every packet that goes up names its ranks, and all of them are below.
void Play::check_upward(const Outgoing& m, Chunk& chunk) const {
  constexpr std::uint64_t kBelow = 0b111;
  const wire::Header& h = m.header;
  FUZZ_CHECK(h.child == 1 && h.fan_in == 3);
  if ((h.flags & wire::kFlagBypass) != 0 && h.type != PacketType::escalation) {
    FUZZ_CHECK(h.type == PacketType::contribution || h.type == PacketType::probe);
    FUZZ_CHECK(h.origin < kWorkers && (kBelow >> h.origin & 1) != 0);
    chunk.escalated = true;
    return;
  }
  FUZZ_CHECK(h.origin == kOwnId);
  FUZZ_CHECK(h.type != PacketType::contribution);
  if (h.type == PacketType::aggregate) FUZZ_CHECK(!chunk.escalated);
  if (h.type != PacketType::escalation) return;
  chunk.escalated = true;
  std::uint64_t ranks = 0;
  FUZZ_CHECK(wire::read_rank_bitmaps(m.extension_span(), kWorkers, std::span(&ranks, 1)));
  if (h.covered == 0) FUZZ_CHECK(m.payload.empty());
  if (h.covered != 0)
    FUZZ_CHECK((ranks & ~kBelow) == 0 && std::popcount(ranks) == static_cast<int>(h.covered));
}

void Play::note_sent() {
  FUZZ_CHECK(out_.overflows() == 0);
  for (const Outgoing& m : out_.items()) {
    const wire::Header& h = m.header;
    std::vector<std::byte> bytes(wire::serialized_bytes(m.extension_span().size()));
    FUZZ_CHECK(wire::serialize(h, m.extension_span(), bytes) == bytes.size());
    bytes.insert(bytes.end(), m.payload.begin(), m.payload.end());
    FUZZ_CHECK(std::holds_alternative<wire::Packet>(wire::parse(bytes)));
    if (m.to == Outgoing::To::parent) {
      check_upward(m, chunks_[{h.shard, h.seq}]);
      if (h.type == PacketType::join) asked_with_ = *wire::find_nonce(m.extension_span());
    }
    const std::vector<std::byte> payload(m.payload.begin(), m.payload.end());
    Chunk& chunk = chunks_[{h.shard, h.seq}];
    if (h.type == PacketType::aggregate) {
      const bool passed_on = aggregator::is_passed_on(h);
      FUZZ_CHECK(m.to == Outgoing::To::parent && h.epoch == epoch_);
      FUZZ_CHECK(h.covered == (passed_on ? 1u : 3u));
      FUZZ_CHECK(chunk.children.size() == (passed_on ? 1u : 2u));  // all, and nothing twice
      FUZZ_CHECK(!chunk.went_up || chunk.sum == payload);          // the same, however often
      chunk.went_up = true;
      chunk.sum = payload;
    }
    if (h.type == PacketType::result) {
      FUZZ_CHECK(m.to != Outgoing::To::parent && chunk.came_down);
      FUZZ_CHECK(payload.empty() || payload == chunk.result);
    }
    if (h.type == PacketType::start && h.epoch != epoch_) {
      epoch_ = h.epoch;
      chunks_.clear();
      next_ = {};
    }
    if (h.type == PacketType::abort && m.to == Outgoing::To::job_group) epoch_ = 0;
  }
}

void Play::one_lie(wire::Header& h) {
  switch (in_.below(14)) {
    case 0: h.epoch = static_cast<std::uint16_t>(h.epoch + in_.between(1, 3) - 2); break;
    case 1:
      h.seq += in_.pick<std::uint32_t>({1, 2, 8, ~0u, ~1u, ~7u, 0x80000000, in_.u32()});
      break;
    case 2: h.origin = in_.pick<std::uint32_t>({0, 1, 3, kOwnId, kBelowId}); break;
    case 3: h.child = in_.u16(); break;
    case 4: h.shard = static_cast<std::uint8_t>(in_.below(4)); break;
    case 5: h.job = in_.below(9); break;
    case 6: h.fan_in = in_.u16(); break;
    case 7: h.op += in_.between(1, 2); break;
    case 8: h.reduce_op = static_cast<wire::ReduceOp>(in_.between(1, wire::kReduceOpMax)); break;
    case 9: h.collective = static_cast<wire::Collective>(in_.below(6)); break;
    case 10: h.flags ^= 1u << in_.below(24); break;
    case 11: h.covered = in_.below(6); break;
    case 12: h.dtype = static_cast<wire::DType>(in_.below(wire::kDTypeMax + 1)); break;
    default: h.type = static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)); break;
  }
}

void Play::from_child(std::uint32_t child, bool lie) {
  constexpr PacketType kTypes[] = {
      PacketType::join,         PacketType::join,         PacketType::contribution,
      PacketType::contribution, PacketType::contribution, PacketType::contribution,
      PacketType::probe,        PacketType::ack,          PacketType::lease,
      PacketType::leave,        PacketType::abort};
  PacketType type = in_.pick(kTypes);
  if (epoch_ != 0) type = unless_it_ends(type, PacketType::contribution);
  wire::Header h = header(type, child);
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  std::size_t bytes = 0;
  h.shard = static_cast<std::uint8_t>(in_.below(job().shards));
  std::uint32_t& next = next_[child];
  h.seq = next - std::min(next, in_.below(4));
  if (h.type == PacketType::join) {
    h.seq = h.shard = 0;
    extensions.add_nonce(1000 * child + in_.below(3));
  } else if (h.type == PacketType::contribution) {
    const bool again = in_.below(4) == 0;
    h.seq = again ? h.seq : next++;
    describe(h);
    h.covered = 1;
    if (again) h.flags |= wire::kFlagResend;
    if (child == kSwitchChild) {
      h.type = PacketType::aggregate;
      h.flags |= wire::kFlagCompleteSubtree;
      if (h.collective == wire::Collective::allreduce) h.covered = 2;
    }
    bytes = std::size_t{h.element_count} * 4;
  } else if (h.type == PacketType::probe) {
    describe(h);
    h.element_count = 0;
    h.dtype = wire::DType::none;
    h.covered = in_.below(2);
  } else if (h.type == PacketType::abort) {
    h.reason = in_.pick<wire::Reason>({wire::Reason::deadline, wire::Reason::rank_left});
    extensions.add_missing_ids(std::array{in_.below(8)});
  }
  if (lie) one_lie(h);
  deliver(h, extensions.bytes(), in_.block(bytes), lie && in_.below(8) == 0 ? kStranger : child);
}

// What the switch below could not finish.
void Play::passed_on(bool lie) {
  wire::Header h = header(PacketType::escalation, kSwitchChild);
  const std::uint32_t newest = std::max(next_[0], next_[1]);
  h.seq = newest + 1 - std::min(newest + 1, in_.below(5));
  h.shard = static_cast<std::uint8_t>(in_.below(job().shards));
  describe(h);
  if (h.collective != wire::Collective::allreduce) return;
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  const std::uint32_t what = in_.below(4);
  if (what == 0) {
    h.dtype = wire::DType::none;
    h.element_count = 0;
  } else if (what == 1) {
    const std::uint64_t ranks = lie ? in_.below(1u << (kWorkers + 1)) : 2u << in_.below(2);
    h.covered = static_cast<std::uint32_t>(std::popcount(ranks));
    wire::add_rank_bitmaps(extensions, std::span(&ranks, 1));
  } else {
    h.type = what == 2 ? PacketType::contribution : PacketType::probe;
    h.flags |= wire::kFlagBypass | (in_.flag() ? wire::kFlagResend : 0u);
    h.origin = lie ? in_.below(kWorkers + 1) : in_.between(1, 2);
    h.covered = 1;
  }
  if (h.type == PacketType::probe) h.dtype = wire::DType::none;
  if (h.type == PacketType::probe) h.element_count = 0;
  h.reason = h.type == PacketType::escalation ? wire::Reason::collision : wire::Reason::none;
  if (lie && in_.flag()) one_lie(h);
  deliver(h, extensions.bytes(), in_.block(std::size_t{h.element_count} * 4), kSwitchChild);
}

void Play::form_epoch() {
  for (const std::uint32_t child : {kWorkerChild, kSwitchChild}) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter extensions(room);
    extensions.add_nonce(1000 * child);
    deliver(header(PacketType::join, child), extensions.bytes(), {}, child);
  }
  send_start(false);
  FUZZ_CHECK(epoch_ != 0);
}

void Play::send_start(bool lie) {
  wire::Header h = header(PacketType::start, kParent);
  h.epoch = next_epoch_++;
  std::array<std::byte, 128> room;
  wire::ExtensionWriter extensions(room);
  extensions.add_nonce(asked_with_ + (lie && in_.flag() ? 1 : 0));
  wire::StartInfo info;
  info.window = job().window;
  info.chunk_bytes = job().chunk_bytes;
  info.workers = kWorkers + (lie && in_.flag() ? 1 : 0);
  info.lease_ms = static_cast<std::uint32_t>(job().lease.to_ns() / 1'000'000);
  info.group_ipv4 = config::job_group_ipv4(kJob);
  info.shards = job().shards;
  info.udp_base_port = config_.udp_base_port;
  info.order = static_cast<std::uint8_t>(job().order);
  info.arithmetic = static_cast<std::uint8_t>(job().arithmetic);
  extensions.add(info);
  deliver(h, extensions.bytes(), {}, lie && in_.flag() ? kStranger : kParent);
}

void Play::from_parent(bool lie) {
  constexpr PacketType kTypes[] = {PacketType::start,   PacketType::start,     PacketType::result,
                                   PacketType::result,  PacketType::result,    PacketType::pending,
                                   PacketType::unknown, PacketType::ack,       PacketType::nack,
                                   PacketType::abort,   PacketType::escalation};
  wire::Header h = header(unless_it_ends(in_.pick(kTypes), PacketType::result), kParent);
  if (h.type == PacketType::start) return send_start(lie);
  const std::uint32_t newest = std::max(next_[0], next_[1]);
  h.seq = newest - std::min(newest, in_.below(4));
  h.shard = static_cast<std::uint8_t>(in_.below(job().shards));
  h.op = h.seq;
  std::array<std::byte, 64> room;
  wire::ExtensionWriter extensions(room);
  std::size_t bytes = 0;
  if (h.type == PacketType::result) {
    describe(h);
    h.covered = h.collective == wire::Collective::broadcast ? 1 : kWorkers;
    bytes = std::size_t{h.element_count} * 4;
  } else if (h.type == PacketType::pending || h.type == PacketType::abort) {
    extensions.add_missing_ids(std::array{in_.below(8)});
    h.reason = h.type == PacketType::abort ? wire::Reason::deadline : wire::Reason::none;
  } else if (h.type == PacketType::nack) {
    h.reason = in_.pick<wire::Reason>({wire::Reason::stale_epoch, wire::Reason::not_joined});
  }
  // For a rank below, or for one that is elsewhere.
  if ((h.type == PacketType::pending || h.type == PacketType::unknown) && in_.flag()) {
    h.flags |= wire::kFlagBypass;
    h.origin = in_.below(kWorkers);
  }
  if (lie) one_lie(h);
  deliver(h, extensions.bytes(), in_.block(bytes), lie && in_.below(4) == 0 ? kStranger : kParent);
}

void Play::raw() {
  wire::Header h = header(static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)), kParent);
  h.seq = in_.u32();
  h.origin = in_.u32();
  h.dtype = static_cast<wire::DType>(in_.below(wire::kDTypeMax + 1));
  h.element_count = static_cast<std::uint16_t>(in_.below(20));
  one_lie(h);
  const std::vector<std::byte> area = in_.block(4 * in_.below(12));
  deliver(h, area, in_.block(h.element_count * wire::size_of(h.dtype)), in_.below(4));
}

void Play::step() {
  const std::uint32_t what = in_.below(16);
  if (what < 5) return from_child(kWorkerChild, what == 0);
  if (what < 8) return from_child(kSwitchChild, what == 5);
  if (what < 10) return passed_on(in_.below(4) == 0);
  if (what < 14) return from_parent(what == 10);
  if (what == 14) return raw();
  expire(Duration::ms(in_.between(1, 200)));
}

void Play::check() const {
  const auto c = engine_.counters(0);
  const std::uint64_t slots = std::uint64_t{job().window} * job().shards;
  FUZZ_CHECK(c.slots_open.get() <= slots && c.results_retained.get() <= 2 * slots);
  FUZZ_CHECK(engine_.slot_status(now_, 1000).size() == c.slots_open.get());
  FUZZ_CHECK(c.members.get() <= 2);
}

void Play::everybody_leaves() {
  const auto members = engine_.job_status(now_)[0].members;
  for (const auto& member : members)
    if (member.present)
      deliver(header(PacketType::leave, member.is_switch ? kSwitchChild : kWorkerChild), {}, {},
              member.is_switch ? kSwitchChild : kWorkerChild);
  for (int round = 0; round < 8; ++round) expire(Duration::seconds(60));
  const auto c = engine_.counters(0);
  FUZZ_CHECK(c.slots_open.get() == 0 && c.members.get() == 0 && c.results_retained.get() == 0);
  FUZZ_CHECK(out_.items().empty());  // no rank is told anything any more
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
