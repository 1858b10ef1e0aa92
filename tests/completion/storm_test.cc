// A root switch, aggregation and completion engine together, in storms: every chunk collides, is
// sent again, has to be verified, overflows or misses its deadline; packets are lost either way.
// Every rank gets every result, and every result is exact (rules 5 to 8, 12; O4, O6, O8, O10).
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator/engine/engine.h"
#include "completion/host/root_host.h"
#include "config/plan/memory_plan.h"
#include "core/net/udp_peer.h"
#include "core/prng.h"
#include "core/wire/extension.h"
#include "dataplane/udp/address_book.h"

namespace tributary::completion {
namespace {

using aggregator::Engine;
using aggregator::Outbox;
using aggregator::Outgoing;
using wire::PacketType;
using wire::Reason;

config::JobConfig job_of(std::uint32_t id, std::uint32_t workers, std::uint32_t window) {
  config::JobConfig job;
  job.id = id;
  job.name = "job-" + std::to_string(id);
  job.workers = workers;
  job.window = window;
  job.chunk_bytes = 64;
  job.deadline = Duration::seconds(1000);
  job.lease = Duration::seconds(1000);
  return job;
}

class StormTest : public ::testing::Test {
 protected:
  struct Storm {
    std::uint32_t chunks = 300;
    std::uint32_t loss_ppm = 0;
    std::uint32_t flags = 0;           // of every contribution
    std::uint32_t at_ps_ppm = 0;       // contributions that ask for the completion engine
    Duration step = Duration::us(10);  // between events
  };

  void build(std::vector<config::JobConfig> jobs, std::uint32_t slots = 4096,
             std::uint32_t megabytes = 64) {
    config::SwitchConfig config;
    config.slots = slots;
    config.completion.megabytes = megabytes;
    config.ports.push_back({"p0", "net_null0", 9000});
    config.jobs = std::move(jobs);
    engine_ = std::make_unique<Engine>(config, dataplane::kUdpAddresses,
                                       aggregator::EngineStart{.epoch = 41, .memory = {}});
    host_ = std::make_unique<RootHost>(config);
    outbox_ =
        std::make_unique<Outbox>(engine_->outbox_capacity() + host_->engine().outbox_capacity());
    config_ = config;
  }

  static wire::UdpPeer peer(std::uint32_t rank) {
    wire::UdpPeer p;
    p.udp_port = static_cast<std::uint16_t>(5000 + rank);
    p.ipv4 = 0x0A4D0001u;
    return p;
  }
  wire::Header header(PacketType type, std::size_t job, std::uint32_t rank) const {
    wire::Header h;
    h.type = type;
    h.job = config_.jobs[job].id;
    h.epoch = type == PacketType::join ? std::uint16_t{0} : epochs_[job];
    h.origin = rank;
    h.child = static_cast<std::uint16_t>(rank);
    h.fan_in = static_cast<std::uint16_t>(config_.jobs[job].workers);
    return h;
  }

  void deliver(const wire::Packet& packet, std::uint32_t rank) {
    engine_->on_packet(packet, peer(rank), now_, *outbox_);
    settle();
  }
  void expire() {
    engine_->expire(now_, *outbox_);
    host_->expire(*outbox_, now_, [&](const wire::Packet& p) { return to_root(p); });
    send();
  }
  bool to_root(const wire::Packet& p) { return engine_->on_host_packet(p, now_, *outbox_); }
  void settle() {
    host_->exchange(*outbox_, now_, [&](const wire::Packet& p) { return to_root(p); });
    send();
  }
  void send() {
    EXPECT_EQ(outbox_->overflows(), 0u);
    for (const Outgoing& o : outbox_->items()) on_sent(o);
    outbox_->clear();
  }
  virtual void on_sent(const Outgoing& o) {
    const std::size_t job = o.header.job == config_.jobs[0].id ? 0 : 1;
    if (o.header.type == PacketType::start) epochs_[job] = o.header.epoch;
    EXPECT_NE(o.header.type, PacketType::abort) << wire::name_of(o.header.reason);
    if (job != 0 || loses()) return;
    const std::uint32_t workers = config_.jobs[0].workers;
    for (std::uint32_t r = 0; r < workers; ++r)
      if (o.to == Outgoing::To::job_group || (o.to == Outgoing::To::peer && o.peer == peer(r)))
        if (o.to == Outgoing::To::peer || !loses()) on_received(o, r);
  }
  void on_received(const Outgoing& o, std::uint32_t rank) {
    if (o.header.type == PacketType::unknown) {
      if (o.header.seq < has_.at(rank).size() && !has_[rank][o.header.seq])
        contribute(rank, o.header.seq, wire::kFlagResend);
    }
    if (o.header.type != PacketType::result) return;
    EXPECT_EQ(o.header.covered, config_.jobs[0].workers);
    check_(o);
    has_.at(rank).at(o.header.seq) = true;
  }
  bool loses() { return prng_.chance_ppm(storm_.loss_ppm); }

  void join(std::size_t job) {
    const std::uint32_t loss = std::exchange(storm_.loss_ppm, 0u);
    for (std::uint32_t r = 0; r < config_.jobs[job].workers; ++r) {
      std::array<std::byte, 16> buffer;
      wire::ExtensionWriter ext(buffer);
      ext.add_nonce(100 + r);
      deliver({header(PacketType::join, job, r), ext.bytes(), {}}, r);
    }
    ASSERT_NE(epochs_[job], 0);
    storm_.loss_ppm = loss;
  }

  // Job 0's data.
  static std::int32_t value(std::uint32_t rank, std::uint32_t seq) {
    return static_cast<std::int32_t>((rank * 7919 + seq * 104'729) % 1'000'003);
  }
  static float rounding_value(std::uint32_t rank, std::uint32_t seq) {
    return static_cast<float>(value(rank, seq)) / 7.0F;
  }
  // 2048 + 1 + 1: the first 1 is lost where the sum is rounded before the second.
  static std::uint16_t half_value(std::uint32_t rank) { return rank == 0 ? 0x6800 : 0x3C00; }
  void contribute(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags) {
    pending_.push_back({rank, seq, flags});
  }
  void send_contribution(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags) {
    wire::Header h = header(PacketType::contribution, 0, rank);
    h.op = seq;
    h.seq = seq;
    h.covered = 1;
    h.flags = wire::kFlagLast | storm_.flags | flags;
    if (prng_.chance_ppm(storm_.at_ps_ppm)) h.flags |= wire::kFlagAtPs;
    h.dtype = dtype_;
    h.element_count = 2;
    std::array<std::int32_t, 2> ints = {value(rank, seq), -value(rank, seq)};
    std::array<float, 2> floats = {rounding_value(rank, seq), 1.0F};
    std::array<std::uint16_t, 2> halves = {half_value(rank), 0};
    std::span<const std::byte> bytes = std::as_bytes(std::span(ints));
    if (dtype_ == wire::DType::float32) bytes = std::as_bytes(std::span(floats));
    if (dtype_ == wire::DType::float16) bytes = std::as_bytes(std::span(halves));
    if (loses()) return;
    deliver({h, {}, bytes.first(h.element_count * wire::size_of(dtype_))}, rank);
  }

  // Ranks send, probe and send again, in their windows, until each has all results.
  void run(const Storm& storm, std::uint64_t seed) {
    storm_ = storm;
    prng_ = Prng(seed);
    const config::JobConfig& job = config_.jobs[0];
    has_.assign(job.workers, std::vector<bool>(storm.chunks));
    std::vector<std::vector<bool>> sent = has_;
    std::vector<std::uint32_t> held(job.workers);  // all before it are there
    std::uint32_t done = 0;
    for (std::uint32_t steps = 0; done < job.workers; ++steps) {
      ASSERT_LT(steps, 4'000'000u) << "rank 0 has " << held[0];
      now_ = now_ + storm.step;
      if (steps % 16 == 0) expire();
      while (!pending_.empty()) {
        const Pending p = pending_.back();
        pending_.pop_back();
        send_contribution(p.rank, p.seq, p.flags);
      }
      const std::uint32_t rank = prng_.below(job.workers);
      while (held[rank] < storm.chunks && has_[rank][held[rank]])
        if (++held[rank] == storm.chunks) ++done;
      const std::uint32_t seq = held[rank] + prng_.below(job.window);
      if (seq >= storm.chunks || has_[rank][seq]) continue;
      if (!sent[rank][seq]) {
        sent[rank][seq] = true;
        send_contribution(rank, seq, 0);
      } else if (prng_.below(4) == 0 && !loses()) {
        wire::Header h = header(PacketType::probe, 0, rank);
        h.op = h.seq = seq;
        deliver({h, {}, {}}, rank);
      }
    }
    expect_nothing_left();
  }
  void expect_nothing_left() const {
    EXPECT_EQ(completions().bytes_held.get(), 0u);
    EXPECT_EQ(completions().chunks_open.get(), 0u);
    EXPECT_EQ(completions().invalid.get(), 0u);
  }
  [[nodiscard]] const JobCounters& completions() const { return host_->engine().counters(0); }
  [[nodiscard]] std::uint64_t completed_by(Reason reason) const {
    return completions().completed[static_cast<std::size_t>(reason)].get();
  }

  void expect_exact_ints() {
    dtype_ = wire::DType::int32;
    check_ = [this](const Outgoing& o) {
      std::int32_t sum = 0;
      for (std::uint32_t r = 0; r < config_.jobs[0].workers; ++r) sum += value(r, o.header.seq);
      std::array<std::int32_t, 2> got;
      ASSERT_EQ(o.payload.size(), sizeof got);
      std::memcpy(got.data(), o.payload.data(), sizeof got);
      ASSERT_EQ(got, (std::array<std::int32_t, 2>{sum, -sum})) << "seq " << o.header.seq;
      ASSERT_EQ(o.header.flags & wire::kFlagOverflow, 0u);
    };
  }
  // In rank order, bit by bit.
  void expect_exact_floats() {
    dtype_ = wire::DType::float32;
    check_ = [this](const Outgoing& o) {
      float sum = rounding_value(0, o.header.seq);
      for (std::uint32_t r = 1; r < config_.jobs[0].workers; ++r)
        sum += rounding_value(r, o.header.seq);
      std::array<float, 2> got;
      ASSERT_EQ(o.payload.size(), sizeof got);
      std::memcpy(got.data(), o.payload.data(), sizeof got);
      ASSERT_EQ(got[0], sum) << "seq " << o.header.seq;
    };
  }

  struct Pending {
    std::uint32_t rank;
    std::uint32_t seq;
    std::uint32_t flags;
  };
  config::SwitchConfig config_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RootHost> host_;
  std::unique_ptr<Outbox> outbox_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::array<std::uint16_t, 2> epochs_{};
  Storm storm_;
  Prng prng_{1};
  wire::DType dtype_ = wire::DType::int32;
  std::function<void(const Outgoing&)> check_;
  std::vector<std::vector<bool>> has_;  // rank, seq: holds the result
  std::vector<Pending> pending_;
};

// O8: another job, of higher priority, holds every slot of the pool, so every chunk of this one
// collides.
TEST_F(StormTest, EveryChunkCollides) {
  for (const std::uint32_t loss : {0u, 150'000u}) {
    SCOPED_TRACE(loss);
    epochs_ = {};
    std::vector<config::JobConfig> jobs = {job_of(1, 5, 4), job_of(2, 2, 4)};
    for (auto& job : jobs) job.slots = config::SlotMode::dynamic;
    jobs[1].priority = 1;
    build(jobs, 4);
    expect_exact_ints();
    join(1);
    for (std::uint32_t seq = 0; seq < 4; ++seq) {
      wire::Header h = header(PacketType::contribution, 1, 0);
      h.op = h.seq = seq;
      h.covered = 1;
      h.dtype = wire::DType::int32;
      h.element_count = 1;
      const std::int32_t v = 5;
      deliver({h, {}, std::as_bytes(std::span(&v, 1))}, 0);
    }
    ASSERT_EQ(engine_->counters(1).slots_open.get(), 4u);
    join(0);
    Storm storm;
    storm.loss_ppm = loss;
    run(storm, 11 + loss);
    // Where the first contribution is lost, the first to come may be a resend.
    EXPECT_EQ(completed_by(Reason::collision) + completed_by(Reason::resend), storm.chunks);
    EXPECT_EQ(engine_->counters(0).collisions.get(), completed_by(Reason::collision));
    EXPECT_GT(completed_by(Reason::collision), loss == 0 ? storm.chunks - 1 : storm.chunks / 2);
    EXPECT_EQ(engine_->counters(0).completions.get(), 0u);
    EXPECT_EQ(engine_->counters(1).slots_open.get(), 4u);  // the owner's sums stand
  }
}

// O6: every contribution asks for the completion engine from the start, as resends do.
TEST_F(StormTest, EveryContributionIsAResend) {
  for (const std::uint32_t loss : {0u, 200'000u}) {
    SCOPED_TRACE(loss);
    build({job_of(1, 6, 8)});
    expect_exact_ints();
    join(0);
    Storm storm;
    storm.loss_ppm = loss;
    storm.flags = wire::kFlagResend | wire::kFlagAtPs;
    run(storm, 12 + loss);
    EXPECT_EQ(completed_by(Reason::resend), storm.chunks);
  }
}

// O6: some sums are flushed with part of their ranks inside, wherever a resend happens to strike.
TEST_F(StormTest, ResendsFlushHalfMadeSums) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    build({job_of(1, 2 + static_cast<std::uint32_t>(seed % 7), 4)});
    expect_exact_ints();
    join(0);
    Storm storm;
    storm.chunks = 100;
    storm.at_ps_ppm = 150'000;
    storm.loss_ppm = 100'000;
    run(storm, seed);
    EXPECT_GT(completions().aggregates.get(), 0u);
    EXPECT_GT(completions().singles.get(), 0u);
  }
}

// O4: every sum makes the round trip.
TEST_F(StormTest, EverySumIsVerified) {
  for (const auto release : {config::Release::sent, config::Release::returned}) {
    config::JobConfig job = job_of(1, 4, 8);
    job.verify = true;
    job.release = release;
    build({job});
    expect_exact_ints();
    join(0);
    Storm storm;
    storm.loss_ppm = 100'000;
    run(storm, 13);
    EXPECT_EQ(completions().completions(), storm.chunks);
    EXPECT_GT(completed_by(Reason::verify), 0u);
  }
}

// T3, T9, T16: chunks whose deadline passes go on at the completion engine.
TEST_F(StormTest, EveryDeadlinePasses) {
  for (const auto trigger : {config::Trigger::collect, config::Trigger::streaming}) {
    config::JobConfig job = job_of(1, 5, 4);
    job.deadline = Duration::ms(1);
    job.on_deadline = config::OnDeadline::escalate;
    job.completion_trigger = trigger;
    build({job});
    expect_exact_ints();
    join(0);
    Storm storm;
    storm.chunks = 200;
    storm.step = Duration::us(20);
    run(storm, 14);
    EXPECT_GT(completed_by(Reason::deadline), 20u);
    EXPECT_EQ(completions().combined_early.get() > 0, trigger == config::Trigger::streaming);
  }
}

// T15, rule 11: flushed or not, in whatever pieces: the bits of the declared order.
TEST_F(StormTest, ReproducibleFloatsKeepTheirBits) {
  for (const auto trigger : {config::Trigger::streaming, config::Trigger::collect}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      config::JobConfig job = job_of(1, 2 + static_cast<std::uint32_t>(seed % 6), 4);
      job.order = wire::Order::reproducible;
      job.trigger = trigger;
      build({job});
      expect_exact_floats();
      join(0);
      Storm storm;
      storm.chunks = 100;
      storm.at_ps_ppm = 150'000;
      storm.loss_ppm = 100'000;
      run(storm, seed);
      EXPECT_GT(completions().completions(), 0u);
    }
  }
}

// T15: where partial sums are narrow, a sum that is given up is not rounded before it is whole.
TEST_F(StormTest, NarrowReproducibleHalvesAreRoundedOnce) {
  for (const bool verify : {false, true}) {
    config::JobConfig job = job_of(1, 3, 4);
    job.order = wire::Order::reproducible;
    job.partials = wire::Partials::narrow;
    job.verify = verify;
    build({job});
    dtype_ = wire::DType::float16;
    check_ = [](const Outgoing& o) {
      std::array<std::uint16_t, 2> got;
      ASSERT_EQ(o.payload.size(), sizeof got);
      std::memcpy(got.data(), o.payload.data(), sizeof got);
      ASSERT_EQ(got[0], 0x6801) << "seq " << o.header.seq;  // 2050, as float16
    };
    join(0);
    Storm storm;
    storm.chunks = 100;
    storm.at_ps_ppm = 150'000;
    storm.loss_ppm = 100'000;
    run(storm, 17);
    EXPECT_GT(completions().completions(), 0u);
  }
}

// Some of these add up to what an int16 cannot hold: the order decides which sums came about.
bool some_sum_overflows(const std::array<int, 3>& v) {
  for (unsigned ranks = 1; ranks < 8; ++ranks) {
    int sum = 0;
    for (unsigned r = 0; r < 3; ++r) sum += (ranks >> r & 1) != 0 ? v[r] : 0;
    if (sum < INT16_MIN || sum > INT16_MAX) return true;
  }
  return false;
}

// Rule 12, O10: no rank is given a sum that has overflowed without being told, and none is told so
// of one that has not.
TEST_F(StormTest, ManySumsOverflow) {
  build({job_of(1, 3, 4)});
  join(0);
  std::uint32_t marked = 0;
  std::uint32_t exact = 0;
  dtype_ = wire::DType::int16;  // the low halves of the values, in two elements
  check_ = [&](const Outgoing& o) {
    std::array<int, 2> sum{};
    std::array<std::array<int, 3>, 2> addends{};
    for (std::uint32_t r = 0; r < 3; ++r) {
      std::array<std::int16_t, 2> v;
      const std::int32_t whole = value(r, o.header.seq);
      std::memcpy(v.data(), &whole, sizeof v);
      for (std::size_t i = 0; i < 2; ++i) sum[i] += addends[i][r] = v[i];
    }
    std::array<std::int16_t, 2> got;
    ASSERT_EQ(o.payload.size(), sizeof got);
    std::memcpy(got.data(), o.payload.data(), sizeof got);
    if ((o.header.flags & wire::kFlagOverflow) != 0) {
      ++marked;
      ASSERT_TRUE(some_sum_overflows(addends[0]) || some_sum_overflows(addends[1]));
      return;
    }
    ++exact;
    ASSERT_EQ((std::array<int, 2>{got[0], got[1]}), sum);
  };
  Storm storm;
  storm.at_ps_ppm = 300'000;
  run(storm, 15);
  EXPECT_GT(marked, 0u);
  EXPECT_GT(exact, 0u);
}

// Memory for a part of the window only: nothing is lost, nothing stops.
TEST_F(StormTest, LittleMemoryCostsTimeOnly) {
  config::JobConfig job = job_of(1, 16, 64);
  job.chunk_bytes = 8192;
  build({job}, 4096, 1);
  ASSERT_LT(host_->engine().limits(0).bytes, config::most_completion_bytes(job));
  expect_exact_ints();
  join(0);
  Storm storm;
  storm.chunks = 200;
  storm.loss_ppm = 50'000;
  storm.flags = wire::kFlagResend | wire::kFlagAtPs;
  run(storm, 16);
  EXPECT_EQ(completions().completions(), storm.chunks);
  EXPECT_GT(completions().refused_full.get() + completions().given_up.get(), 0u);
  EXPECT_LE(completions().bytes_high_water.get(), host_->engine().limits(0).bytes);
}

// O4, rule 7: a sum that was to be verified and found no room is nowhere any more, so the ranks'
// data is asked for again.
TEST_F(StormTest, LittleMemoryCostsVerifiedSumsTimeOnly) {
  for (const auto release : {config::Release::sent, config::Release::returned}) {
    config::JobConfig job = job_of(1, 16, 64);
    job.chunk_bytes = 8192;
    job.verify = true;
    job.release = release;
    build({job}, 4096, 1);
    expect_exact_ints();
    join(0);
    Storm storm;
    storm.chunks = 200;
    storm.loss_ppm = 50'000;
    storm.at_ps_ppm = 150'000;
    run(storm, 18);
    EXPECT_EQ(completions().completions(), storm.chunks);
    EXPECT_GT(completions().refused_full.get() + completions().given_up.get(), 0u);
  }
}

}  // namespace
}  // namespace tributary::completion
