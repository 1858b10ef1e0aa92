// Named data in a tree: the engines of a root and two leaves, and clients below the leaves, on a
// network with seeded delay, reordering, loss and duplication. The same seed gives the same run.
//
//               root (0)
//        leaf (1)       leaf (2)
//     rank 0  rank 1  rank 2  rank 3   and a reader below leaf 2
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aggregator/names/name_engine.h"
#include "core/net/udp_peer.h"
#include "core/prng.h"
#include "worker/names/name_client.h"

namespace tributary::worker {

inline constexpr std::uint32_t kWorldJob = 7;
inline constexpr int kRoot = 0;
inline constexpr int kFirstHost = 3;  // rank 0; the reader is the last
inline constexpr int kReader = 7;

struct Faults {
  std::uint32_t lost = 0;        // of 1000 packets
  std::uint32_t duplicated = 0;  // likewise
  Duration delay = Duration::us(10);
  Duration jitter;  // reorders
};

class NamesWorld {
 public:
  NamesWorld(std::uint64_t seed, const Faults& faults, std::uint32_t cache_slots = 256)
      : random_(seed), faults_(faults), slots_(cache_slots) {
    for (int node = 0; node < kFirstHost; ++node) switches_.push_back(make_switch(node));
    for (int node = kFirstHost; node <= kReader; ++node) hosts_.push_back(make_host(node));
  }

  std::shared_ptr<NameCall> put(int rank, const std::string& name, const std::string& value) {
    return start(kFirstHost + rank, NameCall::Kind::put, name, value);
  }
  std::shared_ptr<NameCall> get(int rank, const std::string& name) {
    return start(kFirstHost + rank, NameCall::Kind::get, name, "");
  }
  std::shared_ptr<NameCall> read(const std::string& name) {
    return start(kReader, NameCall::Kind::get, name, "");
  }
  // Until all calls have ended.
  void run() {
    while (open_ != 0) step();
  }
  // From now on nothing comes from there, and nothing arrives.
  void kill(int node) { dead_[node] = true; }
  static int node_of_rank(int rank) { return kFirstHost + rank; }
  static int leaf_of(int host) { return host < kFirstHost + 2 ? 1 : 2; }

  [[nodiscard]] const aggregator::NameCounters& counters(int node) const {
    return switches_[static_cast<std::size_t>(node)]->engine.jobs().all()[0].counters;
  }
  [[nodiscard]] std::uint32_t pending(int node) const {
    return switches_[static_cast<std::size_t>(node)]->engine.pending();
  }
  [[nodiscard]] std::uint64_t sent(int from, int to) { return sent_[{from, to}]; }
  [[nodiscard]] Instant now() const { return now_; }
  static std::string text_of(const NameCall& call) {
    return {reinterpret_cast<const char*>(call.value.data()), call.value.size()};
  }

 private:
  struct Switch {
    Switch(const config::SwitchConfig& from, std::uint64_t seed)
        : config(from),
          children(config.jobs[0]),
          engine(config, seed),
          outbox(engine.outbox_capacity()) {}
    config::SwitchConfig config;
    aggregator::ChildMap children;
    aggregator::NameEngine engine;
    aggregator::Outbox outbox;
  };
  struct Packet {
    int from = 0;
    int to = 0;
    std::vector<std::byte> bytes;
  };

  std::unique_ptr<Switch> make_switch(int node) {
    config::SwitchConfig config;
    config.names.segment_bytes = 1024;
    config.names.megabytes = 1;
    config.share.emplace().names_bytes = std::uint64_t{slots_} * 1024;
    config::JobConfig job;
    job.id = kWorldJob;
    job.workers = 4;
    job.names = {true, {{false, {10, 0, 0, kReader}, 32}}};
    if (node == kRoot) {
      job.children = {{true, 101, 0, "", {0, 1}}, {true, 102, 0, "", {2, 3}}};
    } else {
      job.parent.emplace();
      const std::uint32_t first = node == 1 ? 0 : 2;
      job.children = {{false, first, 0, "", {first}}, {false, first + 1, 0, "", {first + 1}}};
    }
    config.jobs = {job};
    return std::make_unique<Switch>(config, random_.next());
  }

  std::unique_ptr<NameClient> make_host(int node) {
    auto client = std::make_unique<NameClient>();
    NameClient::Identity identity;
    identity.job = kWorldJob;
    if (node != kReader) {
      identity.origin = static_cast<std::uint32_t>(node - kFirstHost);
      identity.child = static_cast<std::uint16_t>((node - kFirstHost) % 2);
      identity.segment_bytes = wire::segment_bytes(1024);
    }
    client->identify(identity);
    return client;
  }

  static Endpoint endpoint_of(int node) {
    return wire::UdpPeer(static_cast<std::uint16_t>(node), 4000,
                         0x0A000000u + static_cast<std::uint32_t>(node));
  }
  static int node_of(const Endpoint& peer) { return peer.port(); }

  aggregator::NameSender sender_at(int at, int from) {
    using Kind = aggregator::NameSender::Kind;
    Switch& here = *switches_[static_cast<std::size_t>(at)];
    if (at != kRoot && from == kRoot) return {.kind = Kind::parent};
    if (from == kReader) return {};
    const bool is_switch = from < kFirstHost;
    const int child = is_switch ? from - 1 : (from - kFirstHost) % 2;
    return {is_switch ? Kind::child_switch : Kind::worker, static_cast<std::uint16_t>(child),
            &here.children};
  }

  std::shared_ptr<NameCall> start(int node, NameCall::Kind kind, const std::string& name,
                                  const std::string& value) {
    auto call = std::make_shared<NameCall>();
    call->kind = kind;
    call->name = complete_name(name, kWorldJob, "1", kind);
    const auto bytes = std::as_bytes(std::span(value.data(), value.size()));
    call->value.assign(bytes.begin(), bytes.end());
    host(node).start(call, now_);
    ++open_;
    return call;
  }
  NameClient& host(int node) { return *hosts_[static_cast<std::size_t>(node - kFirstHost)]; }

  // The next packet or timer.
  void step() {
    for (int node = kFirstHost; node <= kReader; ++node)
      if (!dead_[node]) poll(node);
    if (open_ == 0) return;
    Instant next = now_ + Duration::ms(1);
    for (int node = kFirstHost; node <= kReader; ++node)
      if (!dead_[node]) next = std::min(next, std::max(now_, host(node).next_wakeup()));
    if (!on_the_way_.empty()) next = std::min(next, on_the_way_.begin()->first);
    now_ = next;
    while (!on_the_way_.empty() && on_the_way_.begin()->first <= now_) {
      const Packet packet = std::move(on_the_way_.begin()->second);
      on_the_way_.erase(on_the_way_.begin());
      deliver(packet);
    }
    for (auto& one : switches_) one->engine.expire(now_);
  }

  void poll(int node) {
    NameBatch batch;
    do {
      host(node).poll(now_, batch);
      for (const Datagram& d : batch.datagrams()) {
        std::vector<std::byte> bytes(d.head.begin(), d.head.end());
        bytes.insert(bytes.end(), d.payload.begin(), d.payload.end());
        send(node, leaf_of(node), std::move(bytes));
      }
    } while (batch.full());
    while (host(node).take_finished() != nullptr) --open_;
  }

  void deliver(const Packet& packet) {
    if (dead_[packet.to] || dead_[packet.from]) return;
    wire::Packet parsed;
    if (wire::parse(packet.bytes, parsed) != DropReason::none) return;
    if (packet.to >= kFirstHost) return host(packet.to).on_packet(parsed, now_);
    Switch& here = *switches_[static_cast<std::size_t>(packet.to)];
    here.outbox.clear();
    here.engine.on_packet(parsed, endpoint_of(packet.from), sender_at(packet.to, packet.from), now_,
                          here.outbox);
    for (const aggregator::Outgoing& o : here.outbox.items()) {
      const bool up = o.to == aggregator::Outgoing::To::parent;
      std::vector<std::byte> bytes(2048);
      std::size_t used = wire::serialize(o.header, o.extension_span(), bytes);
      std::copy(o.payload.begin(), o.payload.end(),
                bytes.begin() + static_cast<std::ptrdiff_t>(used));
      bytes.resize(used + o.payload.size());
      send(packet.to, up ? kRoot : node_of(o.peer), std::move(bytes));
    }
  }

  void send(int from, int to, std::vector<std::byte> bytes) {
    ++sent_[{from, to}];
    if (random_.below(1000) < faults_.lost) return;
    const int copies = random_.below(1000) < faults_.duplicated ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const auto jitter = static_cast<std::uint32_t>(faults_.jitter.to_ns());
      const Duration late = Duration::ns(jitter == 0 ? 0 : random_.below(jitter));
      on_the_way_.emplace(now_ + faults_.delay + late, Packet{from, to, bytes});
    }
  }

  Prng random_;
  Faults faults_;
  std::uint32_t slots_;
  Instant now_;
  std::vector<std::unique_ptr<Switch>> switches_;
  std::vector<std::unique_ptr<NameClient>> hosts_;
  std::multimap<Instant, Packet> on_the_way_;
  std::map<std::pair<int, int>, std::uint64_t> sent_;
  std::array<bool, kReader + 1> dead_{};
  int open_ = 0;
};

}  // namespace tributary::worker
