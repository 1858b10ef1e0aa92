// Sessions and engine together: the input decides which message in flight arrives next, which is
// lost or comes twice, when time passes and when ops are called. Every op that ends without
// failure holds the exact sum over all ranks; once the network is left in peace, all ops end.
#include <algorithm>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "aggregator/engine/engine.h"
#include "core/net/udp_peer.h"
#include "dataplane/udp/address_book.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"
#include "worker/session/session.h"

namespace tributary::fuzz {
namespace {

using aggregator::Outgoing;
using worker::Session;
using worker::SessionState;

constexpr std::size_t kMostInFlight = 200;
constexpr std::size_t kMostSteps = 600;
constexpr std::uint32_t kMostOps = 6;
constexpr std::int32_t kToSwitch = -1;

struct Message {
  std::vector<std::byte> bytes;
  std::int32_t to = kToSwitch;  // else a rank
  std::uint32_t from = 0;       // rank
};

struct Rank {
  std::unique_ptr<Session> session;
  struct Call {
    worker::Op op;
    std::vector<std::uint32_t> data;
    bool done = false;
  };
  std::list<Call> calls;
};

config::SwitchConfig draw_config(Input& in) {
  config::SwitchConfig c;
  c.ipv4 = 0x0A4D00FE;
  c.ports = {{"a", "net_null0"}};
  config::JobConfig job;
  job.id = 7;
  job.name = "j";
  job.workers = in.between(1, 3);
  job.window = 1u << in.below(4);
  job.chunk_bytes = 8 * in.between(1, 3);
  job.shards = static_cast<std::uint8_t>(in.between(1, 3));
  job.deadline = Duration::ms(in.pick<std::int64_t>({30'000, 500}));
  job.lease = Duration::ms(in.pick<std::int64_t>({30'000, 600}));
  c.jobs = {job};
  return c;
}

class Play {
 public:
  explicit Play(Input& in)
      : in_(in),
        config_(draw_config(in)),
        engine_(config_, dataplane::kUdpAddresses,
                {1, in.pick<std::uint32_t>({0, 0xFFFFFFFA, 0x7FFFFFFE})}),
        out_(engine_.outbox_capacity()),
        ranks_(config_.jobs[0].workers) {
    for (auto& rank : ranks_) rank.session = make_session(rank);
  }

  void run() {
    for (std::size_t n = 0; n < kMostSteps && !in_.empty(); ++n) step();
    settle();
  }

 private:
  [[nodiscard]] std::uint32_t index(const Rank& rank) const {
    return static_cast<std::uint32_t>(&rank - ranks_.data());
  }
  [[nodiscard]] std::unique_ptr<Session> make_session(const Rank& rank) const {
    worker::SessionOptions o;
    o.job = config_.jobs[0].id;
    o.rank = index(rank);
    o.size = config_.jobs[0].workers;
    o.nonce = 100 + o.rank;
    o.switch_name = "test";
    return std::make_unique<Session>(o, now_);
  }
  // Deterministic, and different for every rank, op and element.
  static std::uint32_t value(std::uint32_t rank, std::uint32_t op, std::size_t element) {
    return (rank + 1) * 0x9E3779B9u + op * 0x85EBCA6Bu + static_cast<std::uint32_t>(element) * 77u;
  }

  void step();
  void poll(Rank& rank, bool perfect);
  void deliver(const Message& message);
  void collect();
  void call(Rank& rank, std::uint32_t count);
  void take_finished(Rank& rank);
  void settle();

  Input& in_;
  config::SwitchConfig config_;
  Instant now_ = Instant::from_ns(1);
  aggregator::Engine engine_;
  aggregator::Outbox out_;
  std::vector<Rank> ranks_;
  std::vector<Message> flying_;
  std::vector<std::uint32_t> counts_;  // elements of each op, in order, the same on every rank
};

void Play::poll(Rank& rank, bool perfect) {
  worker::SendBatch batch;
  rank.session->poll(now_, batch);
  for (const auto& d : batch.datagrams()) {
    if (flying_.size() == kMostInFlight && !perfect) continue;  // lost
    Message m;
    m.bytes.assign(d.head.begin(), d.head.end());
    m.bytes.insert(m.bytes.end(), d.payload.begin(), d.payload.end());
    m.from = index(rank);
    flying_.push_back(std::move(m));
  }
  take_finished(rank);
}

void Play::collect() {
  for (const Outgoing& o : out_.items()) {
    Message m;
    m.bytes.resize(wire::serialized_bytes(o.extension_bytes));
    FUZZ_CHECK(wire::serialize(o.header, o.extension_span(), m.bytes) != 0);
    m.bytes.insert(m.bytes.end(), o.payload.begin(), o.payload.end());
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (o.to == Outgoing::To::peer && ipv4_of(o.peer.node()) != rank + 1) continue;
      m.to = static_cast<std::int32_t>(rank);
      flying_.push_back(m);
    }
  }
  out_.clear();
}

void Play::deliver(const Message& message) {
  const auto parsed = wire::parse(message.bytes);
  FUZZ_CHECK(std::holds_alternative<wire::Packet>(parsed));
  const auto& packet = std::get<wire::Packet>(parsed);
  if (message.to != kToSwitch) {
    Rank& rank = ranks_[static_cast<std::size_t>(message.to)];
    rank.session->on_packet(packet, now_);
    take_finished(rank);
    return;
  }
  wire::UdpPeer from;
  from.ipv4 = message.from + 1;
  from.udp_port = 40000;
  from.mac = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(message.from)};
  engine_.on_packet(packet, from, now_, out_);
  collect();
}

void Play::call(Rank& rank, std::uint32_t count) {
  if (rank.session->state() != SessionState::running || rank.calls.size() == kMostOps) return;
  const auto op = static_cast<std::uint32_t>(rank.calls.size());
  // The first rank to call an op decides its size; the others call the same.
  if (op == counts_.size()) counts_.push_back(count);
  auto& c = rank.calls.emplace_back();
  for (std::size_t i = 0; i < counts_[op]; ++i) c.data.push_back(value(index(rank), op, i));
  c.op.data = reinterpret_cast<std::byte*>(c.data.data());
  c.op.count = c.data.size();
  c.op.dtype = wire::DType::int32;
  rank.session->submit(c.op, now_);
}

void Play::take_finished(Rank& rank) {
  while (worker::Op* op = rank.session->take_finished()) {
    std::uint32_t number = 0;
    for (auto& c : rank.calls) {
      if (&c.op != op) {
        ++number;
        continue;
      }
      FUZZ_CHECK(!c.done);
      c.done = true;
      if (op->failure) break;
      for (std::size_t i = 0; i < c.data.size(); ++i) {
        std::uint32_t sum = 0;
        for (std::uint32_t r = 0; r < ranks_.size(); ++r) sum += value(r, number, i);
        FUZZ_CHECK(c.data[i] == sum);
      }
      break;
    }
    FUZZ_CHECK(number < rank.calls.size());
  }
}

void Play::step() {
  const std::uint32_t what = in_.below(12);
  Rank& rank = ranks_[in_.below(static_cast<std::uint32_t>(ranks_.size()))];
  if (what < 3) return poll(rank, false);
  if (what == 3) return call(rank, in_.below(40));
  if (what == 4) {
    now_ = now_ + Duration::us(in_.below(40'000));
    engine_.expire(now_, out_);
    return collect();
  }
  if (flying_.empty()) return;
  const std::size_t chosen = in_.below(static_cast<std::uint32_t>(flying_.size()));
  const Message m = flying_[chosen];
  // 5: it comes again later; 6: it never comes.
  if (what != 5) flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(chosen));
  if (what != 6) deliver(m);
}

// The network is perfect from here on, and all ranks call the ops that any has called.
void Play::settle() {
  const auto open = [&] {
    return std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
      const SessionState state = rank.session->state();
      const bool all_called = rank.calls.size() == counts_.size();
      return state == SessionState::joining ||
             (state == SessionState::running && (!rank.session->idle() || !all_called));
    });
  };
  for (int round = 0; open(); ++round) {
    // Timers go up to a second, the op timeout to a minute.
    FUZZ_CHECK(round < 4000);
    for (auto& rank : ranks_) {
      while (rank.calls.size() < counts_.size() && rank.session->state() == SessionState::running)
        call(rank, 0);
      poll(rank, true);
    }
    while (!flying_.empty()) {
      const std::vector<Message> now = std::exchange(flying_, {});
      for (const Message& m : now) deliver(m);
    }
    now_ = now_ + Duration::ms(20);
    engine_.expire(now_, out_);
    collect();
  }
  for (const auto& rank : ranks_)
    for (const auto& c : rank.calls) FUZZ_CHECK(c.done);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::Play(in).run();
  return 0;
}
