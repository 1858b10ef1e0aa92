// A root switch and two parameter servers, both the real thing, and the packets between them: in
// any order, twice, never, bent in one place by a root or a server that lies, or from a stranger.
// The input decides, and when servers die and come back. In any case results are exact but for the
// chunks that were lied about, and never change; a term is one host's alone. In the end, if no node
// lied and all are left in peace, every chunk has its result; and no node holds anything.
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "aggregator/engine/engine.h"
#include "completion/host/root_host.h"
#include "completion/host/server.h"
#include "core/net/udp_peer.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using aggregator::Outbox;
using aggregator::Outgoing;
using wire::PacketType;

constexpr std::size_t kMostSteps = 400;
constexpr std::size_t kMostFlying = 64;
constexpr std::uint32_t kJob = 7;
constexpr std::uint32_t kWorkers = 3;
constexpr std::uint32_t kRootIpv4 = 0x0A0000FE;
constexpr std::uint32_t kServerIpv4 = 0x0A020001;
constexpr std::uint32_t kRankIpv4 = 0x0A010001;
constexpr std::size_t kServers = 2;
constexpr std::size_t kRoot = kServers;  // as a destination

config::SwitchConfig draw_config(Input& in) {
  config::JobConfig job;
  job.id = kJob;
  job.name = "job";
  job.workers = kWorkers;
  job.window = 1u << in.below(4);
  job.chunk_bytes = 8;
  job.shards = static_cast<std::uint8_t>(in.between(1, 2));
  job.deadline = job.lease = Duration::seconds(1000);
  job.verify = in.flag();
  if (job.verify && in.flag()) job.release = config::Release::returned;
  if (in.flag()) job.order = wire::Order::reproducible;
  job.completion_hosts = {"ps0", "ps1"};
  if (in.flag()) job.completion_hosts.emplace_back(config::kRootHost);
  config::SwitchConfig c;
  c.ipv4 = kRootIpv4;
  c.ports = {{"p0", "net_null0"}};
  c.completion.lease = Duration::ms(300);
  c.completion.hosts = {{"ps0", kServerIpv4, "p0"}, {"ps1", kServerIpv4 + 1, ""}};
  c.jobs = {job};
  return c;
}

std::vector<std::byte> copy(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        config_(draw_config(in)),
        tight_(in.flag()),
        engine_(config_, dataplane::kUdpAddresses, {.epoch = 41, .memory = {}}),
        host_(config_, &engine_, 77),
        box_(engine_.outbox_capacity() + host_.outbox_capacity()) {
    for (std::size_t i = 0; i < kServers; ++i) boot(i);
  }

  void run() {
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) {
      if (!engine_.running_epoch(kJob)) join();
      step();
    }
    if (!lied_) leave_in_peace();
    end();
  }

 private:
  using Key = std::pair<std::uint8_t, std::uint32_t>;  // shard, seq
  struct Flying {
    std::size_t to = 0;
    std::size_t from = 0;  // a server, when it goes to the root
    wire::Header header;
    std::vector<std::byte> extensions;
    std::vector<std::byte> payload;
  };

  void boot(std::size_t place);
  void step();
  void join();
  void contribute(std::uint32_t rank, std::uint8_t shard, std::uint32_t seq, std::uint32_t flags);
  void probe(std::uint32_t rank, std::uint8_t shard, std::uint32_t seq);
  void tick(Duration time);
  void deliver(const Flying& f);
  void bend(Flying& f);
  void stranger(Flying f);
  void to_root(const wire::Packet& p, const Endpoint& from);
  void flush_root();
  void flush_server(std::size_t place);
  void on_start(const Outgoing& o);
  void on_result(const Outgoing& o);
  void leave_in_peace();
  void end();
  wire::Header header(PacketType type, std::uint32_t rank) const;
  static wire::UdpPeer peer(std::uint32_t ipv4, std::uint8_t shard = 0) {
    wire::UdpPeer p;
    p.ipv4 = ipv4;
    p.udp_port = static_cast<std::uint16_t>(config::kDefaultUdpBasePort + shard);
    return p;
  }
  [[nodiscard]] const config::JobConfig& job() const { return config_.jobs[0]; }
  std::uint32_t draw_rank() { return in_.below(kWorkers); }
  std::uint8_t draw_shard() { return static_cast<std::uint8_t>(in_.below(job().shards)); }
  static std::int32_t value(std::uint32_t rank, std::uint32_t seq) {
    return static_cast<std::int32_t>((rank + 1) * 1000 + seq);
  }

  Input& in_;
  config::SwitchConfig config_;
  const bool tight_;
  aggregator::Engine engine_;
  completion::RootHost host_;
  Outbox box_;
  std::array<std::unique_ptr<completion::Server>, kServers> servers_;
  std::array<std::unique_ptr<Outbox>, kServers> boxes_;
  std::deque<Flying> wire_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::uint64_t nonces_ = 100;
  std::uint16_t epoch_ = 0;
  bool lied_ = false;
  std::array<std::uint32_t, 2> low_{};  // by shard: the lowest seq without a result
  std::map<Key, std::vector<std::byte>> results_;
  std::set<Key> lied_about_;
  std::set<std::pair<std::uint32_t, Key>> asked_;  // ranks whose data is wanted again
  std::map<std::pair<std::uint8_t, std::uint32_t>, std::uint32_t> hosts_;  // by shard and term
};

void Play::boot(std::size_t place) {
  completion::ServedJob served;
  served.limits = completion::limits_of(job());
  served.limits.root_is_here = false;
  served.limits.bytes = tight_ ? 0 : completion::most_bytes(served.limits);
  served.roots = wire::peers_of_shards(peer(kRootIpv4), job().shards);
  servers_[place] = std::make_unique<completion::Server>(
      std::span(&served, 1),
      completion::ServerIdentity{kServerIpv4 + static_cast<std::uint32_t>(place), ++nonces_,
                                 Duration::ms(100)});
  boxes_[place] = std::make_unique<Outbox>(servers_[place]->outbox_capacity());
}

wire::Header Play::header(PacketType type, std::uint32_t rank) const {
  wire::Header h;
  h.type = type;
  h.job = kJob;
  h.epoch = type == PacketType::join ? std::uint16_t{0} : epoch_;
  h.origin = rank;
  h.child = static_cast<std::uint16_t>(rank);
  h.fan_in = kWorkers;
  return h;
}

void Play::join() {
  low_.fill(0);
  results_.clear();
  lied_about_.clear();
  asked_.clear();
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(++nonces_);
    to_root({header(PacketType::join, rank), ext.bytes(), {}}, peer(kRankIpv4 + rank));
  }
  FUZZ_CHECK(engine_.running_epoch(kJob) == epoch_);
}

void Play::contribute(std::uint32_t rank, std::uint8_t shard, std::uint32_t seq,
                      std::uint32_t flags) {
  wire::Header h = header(PacketType::contribution, rank);
  h.flags = wire::kFlagLast | flags;
  h.op = h.seq = seq;
  h.shard = shard;
  h.covered = 1;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  const std::int32_t v = value(rank, seq);
  to_root({h, {}, std::as_bytes(std::span(&v, 1))}, peer(kRankIpv4 + rank));
}

void Play::probe(std::uint32_t rank, std::uint8_t shard, std::uint32_t seq) {
  wire::Header h = header(PacketType::probe, rank);
  h.op = h.seq = seq;
  h.shard = shard;
  h.covered = 1;
  to_root({h, {}, {}}, peer(kRankIpv4 + rank));
}

void Play::step() {
  const std::uint32_t what = in_.below(16);
  if (what < 5) {
    const std::uint32_t rank = draw_rank();
    const std::uint8_t shard = draw_shard();
    const std::uint32_t seq = low_[shard] + in_.below(job().window);
    const std::uint32_t flags = in_.pick<std::uint32_t>({wire::kFlagAtPs, 0, wire::kFlagResend});
    return contribute(rank, shard, seq, flags);
  }
  if (what == 5) {
    const std::uint32_t rank = draw_rank();
    const std::uint8_t shard = draw_shard();
    return probe(rank, shard, low_[shard] + in_.below(job().window));
  }
  if (what == 6) return tick(Duration::ms(in_.below(150)));
  if (what == 7 && in_.below(8) == 0) {
    const std::size_t place = in_.below(kServers);
    if (servers_[place])
      servers_[place].reset();
    else
      boot(place);
    return;
  }
  if (wire_.empty()) return tick(Duration::ms(1));
  const std::size_t at = in_.below(static_cast<std::uint32_t>(wire_.size()));
  Flying f = wire_[at];
  if (in_.below(8) != 0) wire_.erase(wire_.begin() + static_cast<std::ptrdiff_t>(at));
  if (what == 8) return;  // lost
  if (what == 9) return stranger(std::move(f));
  if (what == 10) bend(f);
  deliver(f);
}

// One thing that is not so. A node that lies may spoil the chunks that it speaks of, and no others.
void Play::bend(Flying& f) {
  lied_ = true;
  wire::Header& h = f.header;
  lied_about_.insert({h.shard, h.seq});
  switch (in_.below(12)) {
    case 0: h.epoch = static_cast<std::uint16_t>(h.epoch + in_.below(3)); break;
    case 1: h.seq += in_.between(1, 3); break;
    case 2: h.shard ^= 1; break;
    case 3: h.type = static_cast<PacketType>(in_.between(1, wire::kPacketTypeMax)); break;
    case 4: h.flags ^= 1u << in_.below(24); break;
    case 5: h.origin = in_.u32(); break;
    case 6: h.covered = in_.below(5); break;
    case 7: h.attempt = static_cast<std::uint8_t>(in_.below(3)); break;
    case 8: h.reason = static_cast<wire::Reason>(in_.below(40)); break;
    case 9: h.element_count = static_cast<std::uint16_t>(in_.below(3)); break;
    case 10:
      if (!f.payload.empty()) f.payload[in_.below(4)] ^= std::byte{1};
      break;
    default:
      if (!f.extensions.empty())
        f.extensions[in_.below(static_cast<std::uint32_t>(f.extensions.size()))] ^=
            static_cast<std::byte>(in_.u8());
  }
  lied_about_.insert({h.shard, h.seq});
}

// From an unknown address: changes nothing, and gets no answer.
void Play::stranger(Flying f) {
  const wire::Packet p{f.header, f.extensions, f.payload};
  if (f.to == kRoot) {
    if (!host_.concerns(p)) return;
    const auto decision = host_.on_packet(p, peer(kServerIpv4 + kServers), now_, box_);
    FUZZ_CHECK(decision.reason == DropReason::sender_mismatch && box_.items().empty());
  } else if (servers_[f.to]) {
    const DropReason what = servers_[f.to]->on_packet(p, peer(kRootIpv4 + 1), now_, *boxes_[f.to]);
    FUZZ_CHECK(what == DropReason::sender_mismatch && boxes_[f.to]->items().empty());
  }
}

// As a datagram, so that only what parses arrives.
void Play::deliver(const Flying& f) {
  std::vector<std::byte> bytes(wire::serialized_bytes(f.extensions.size()));
  if (wire::serialize(f.header, f.extensions, bytes) == 0) return;
  bytes.insert(bytes.end(), f.payload.begin(), f.payload.end());
  const auto parsed = wire::parse(bytes);
  const auto* p = std::get_if<wire::Packet>(&parsed);
  if (p == nullptr) return;
  if (f.to == kRoot) return to_root(*p, peer(kServerIpv4 + static_cast<std::uint32_t>(f.from)));
  if (!servers_[f.to]) return;
  servers_[f.to]->on_packet(*p, peer(kRootIpv4, p->header.shard), now_, *boxes_[f.to]);
  flush_server(f.to);
}

void Play::to_root(const wire::Packet& p, const Endpoint& from) {
  if (host_.concerns(p))
    host_.on_packet(p, from, now_, box_);
  else
    engine_.on_packet(p, from, now_, box_);
  host_.exchange(box_, now_,
                 [this](const wire::Packet& x) { return engine_.on_host_packet(x, now_, box_); });
  flush_root();
}

void Play::tick(Duration time) {
  now_ = now_ + time;
  engine_.expire(now_, box_);
  host_.expire(box_, now_,
               [this](const wire::Packet& x) { return engine_.on_host_packet(x, now_, box_); });
  flush_root();
  for (std::size_t i = 0; i < kServers; ++i)
    if (servers_[i]) {
      servers_[i]->expire(now_, *boxes_[i]);
      flush_server(i);
    }
}

void Play::flush_root() {
  FUZZ_CHECK(box_.overflows() == 0);
  for (const Outgoing& o : box_.items()) {
    const wire::Header& h = o.header;
    if (o.to == Outgoing::To::completion_host) continue;
    if (h.type == PacketType::result) on_result(o);
    const std::uint32_t server = ipv4_of(o.peer.node()) - kServerIpv4;
    if (o.to == Outgoing::To::peer && server < kServers) {
      if (h.type == PacketType::start) on_start(o);
      if (wire_.size() < kMostFlying)
        wire_.push_back({server, 0, h, copy(o.extension_span()), copy(o.payload)});
      continue;
    }
    if (h.type == PacketType::start) epoch_ = h.epoch;
    if (h.type == PacketType::unknown)
      asked_.insert({ipv4_of(o.peer.node()) - kRankIpv4, {h.shard, h.seq}});
  }
  box_.clear();
}

void Play::flush_server(std::size_t place) {
  Outbox& box = *boxes_[place];
  FUZZ_CHECK(box.overflows() == 0);
  for (const Outgoing& o : box.items()) {
    FUZZ_CHECK(o.to == Outgoing::To::peer && ipv4_of(o.peer.node()) == kRootIpv4);
    if (wire_.size() < kMostFlying)
      wire_.push_back({kRoot, place, o.header, copy(o.extension_span()), copy(o.payload)});
  }
  box.clear();
  const completion::Server& server = *servers_[place];
  for (std::size_t i = 0; i < server.seat_count(); ++i)
    FUZZ_CHECK(server.engine(i).counters(0).bytes_held.get() <= server.memory_bytes());
}

// Rule 5: a term is one host's alone.
void Play::on_start(const Outgoing& o) {
  const auto info = wire::find_start_info(o.extension_span());
  FUZZ_CHECK(info && info->completion_host == ipv4_of(o.peer.node()));
  const auto [known, fresh] =
      hosts_.emplace(std::pair(o.header.shard, info->host_term), info->completion_host);
  FUZZ_CHECK(fresh || known->second == info->completion_host);
}

void Play::on_result(const Outgoing& o) {
  const wire::Header& h = o.header;
  const Key key{h.shard, h.seq};
  const auto [known, fresh] = results_.emplace(key, copy(o.payload));
  FUZZ_CHECK(known->second == copy(o.payload));
  while (results_.contains({h.shard, low_[h.shard]})) ++low_[h.shard];
  if (lied_about_.contains(key)) return;
  std::int32_t sum = 0;
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank) sum += value(rank, h.seq);
  FUZZ_CHECK(o.payload.size() == sizeof sum);
  FUZZ_CHECK(std::memcmp(o.payload.data(), &sum, sizeof sum) == 0);
}

// Rule 5, T10: take-overs and losses cost time, and no op.
void Play::leave_in_peace() {
  constexpr int kRounds = 40;
  if (!engine_.running_epoch(kJob)) return;
  for (std::size_t i = 0; i < kServers; ++i)
    if (!servers_[i]) boot(i);
  const auto goal = low_;
  const std::uint16_t epoch = epoch_;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 10; ++i) {
      tick(Duration::ms(10));
      while (!wire_.empty()) {
        const Flying f = std::move(wire_.front());
        wire_.pop_front();
        deliver(f);
      }
    }
    if (engine_.running_epoch(kJob) != epoch) return;  // no rank was there for too long
    const auto asked = std::exchange(asked_, {});
    for (const auto& [rank, key] : asked)
      contribute(rank, key.first, key.second, wire::kFlagResend);
    for (std::uint8_t shard = 0; shard < job().shards; ++shard)
      for (std::uint32_t rank = 0; rank < kWorkers && low_[shard] == goal[shard]; ++rank) {
        if (round == 0)
          contribute(rank, shard, goal[shard], 0);
        else
          probe(rank, shard, goal[shard]);
      }
  }
  for (std::uint8_t shard = 0; shard < job().shards; ++shard)
    FUZZ_CHECK(low_[shard] != goal[shard]);
}

void Play::end() {
  for (std::uint32_t rank = 0; rank < kWorkers; ++rank)
    to_root({header(PacketType::leave, rank), {}, {}}, peer(kRankIpv4 + rank));
  FUZZ_CHECK(engine_.slot_status(now_, 10).empty());
  FUZZ_CHECK(engine_.counters(0).slots_open.get() == 0);
  for (std::size_t i = 0; i < kServers; ++i) {
    if (!servers_[i]) continue;
    servers_[i]->shut_down(*boxes_[i]);
    for (std::size_t seat = 0; seat < servers_[i]->seat_count(); ++seat) {
      const auto& counters = servers_[i]->engine(seat).counters(0);
      FUZZ_CHECK(counters.bytes_held.get() == 0 && counters.chunks_open.get() == 0);
    }
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
