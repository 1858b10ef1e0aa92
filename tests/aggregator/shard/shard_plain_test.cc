// Both ways of a contribution, beside each other.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tests/aggregator/random_load.h"

namespace tributary::aggregator {
namespace {

// A packet as it is parsed, with an extension of padding or without. Owns its bytes.
struct Parsed {
  std::vector<std::byte> bytes;
  wire::Packet packet;

  // nullopt: no switch would have let it in.
  static std::optional<Parsed> of(const Made& made, bool padded) {
    std::array<std::byte, 8> padding;
    wire::write_padding_word(std::span(padding).first(4));
    wire::write_padding_word(std::span(padding).last(4));
    const std::span<const std::byte> extensions = std::span(padding).first(padded ? 8 : 0);
    Parsed p;
    p.bytes.resize(wire::serialized_bytes(extensions.size()) + made.payload.size());
    const std::size_t at = wire::serialize(made.header, extensions, p.bytes);
    std::copy(made.payload.begin(), made.payload.end(),
              p.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    if (wire::parse(p.bytes, p.packet) != DropReason::none) return std::nullopt;
    return p;
  }
};

// One thing about a packet is another than it was.
void spoil(Made& m, Prng& prng) {
  wire::Header& h = m.header;
  switch (prng.below(16)) {
    case 0: h.flags ^= 1u << prng.below(17); break;
    case 1: h.epoch = static_cast<std::uint16_t>(h.epoch + 1); break;
    case 2: h.attempt ^= 1; break;
    case 3: h.op += 1; break;
    case 4: h.chunk += 1; break;
    case 5: h.origin = prng.below(4); break;
    case 6: h.child = static_cast<std::uint16_t>(prng.below(5)); break;
    case 7: h.fan_in = static_cast<std::uint16_t>(h.fan_in + 1); break;
    case 8: h.plane = 1; break;
    case 9: h.stream = 1; break;
    case 10: h.collective = static_cast<wire::Collective>(prng.below(6)); break;
    case 11: h.type = static_cast<wire::PacketType>(prng.below(6)); break;
    case 12: h.encoding = wire::Encoding::block_scaled; break;
    case 13: m.from.udp_port = 9; break;
    case 14: m.from.mac[5] ^= 1; break;
    case 15:  // a barrier
      h.dtype = wire::DType::none;
      h.element_count = 0;
      h.collective = wire::Collective::barrier;
      m.payload.clear();
      break;
  }
}

// What one way passes on has the extension that the other one lacks.
bool same_but_for_padding(const Sent& a, const Sent& b) {
  Sent bare = b;
  if (b.header.type == wire::PacketType::contribution) bare.extensions = a.extensions;
  return same(a, bare);
}

void expect_same_figures(const Engine& a, const Engine& b, Instant now) {
  for (std::size_t job = 0; job < 2; ++job) {
    const JobCounters x = a.counters(job);
    const JobCounters y = b.counters(job);
    for (Counter JobCounters::*figure :
         {&JobCounters::nacks, &JobCounters::aborts_mismatch, &JobCounters::aborts_deadline})
      EXPECT_EQ((x.*figure).get(), (y.*figure).get());
    using S = ShardCounters;
    for (Counter S::*figure :
         {&S::contributions, &S::contribution_bytes, &S::completions, &S::duplicates, &S::stale,
          &S::resends, &S::saturated, &S::collisions, &S::forwarded, &S::marked_data, &S::bytes_in,
          &S::bytes_out, &S::slots_open, &S::results_retained, &S::slot_hold_ns_max})
      EXPECT_EQ((x.*figure).get(), (y.*figure).get());
    for (std::uint32_t rank = 0; rank < a.job_config(job).workers; ++rank) {
      const ChildTotals p = a.child_totals(job, rank);
      const ChildTotals q = b.child_totals(job, rank);
      EXPECT_EQ(p.timed_arrivals.get(), q.timed_arrivals.get());
      EXPECT_EQ(p.lateness_ns.get(), q.lateness_ns.get());
      EXPECT_EQ(p.missed_deadlines.get(), q.missed_deadlines.get());
    }
    const auto members = a.job_status(now).at(job).members;
    const auto others = b.job_status(now).at(job).members;
    ASSERT_EQ(members.size(), others.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      EXPECT_EQ(members[i].silent_for, others[i].silent_for);
  }
}

class FurtherTest : public RandomLoad {
 protected:
  // Jobs of which one takes slots from the other.
  static config::SwitchConfig rivals() {
    config::SwitchConfig c = both_jobs();
    c.jobs[0].slots = config::SlotMode::dynamic;
    c.jobs[0].on_deadline = config::OnDeadline::escalate;
    c.slots = 5;
    c.preempt_idle = Duration::us(2'500);
    return c;
  }
};

// The short way may take a packet only if the long one would have, with all that follows: the same
// decisions, messages, figures and sums, whatever is wrong with whichever packet.
TEST_F(FurtherTest, TheShortWaySaysAndCountsWhatTheLongOneDoes) {
  workers_ = kRanks;
  std::size_t folded = 0;
  std::size_t completed = 0;
  std::size_t rulings = 0;
  std::size_t preempted = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const config::SwitchConfig config = seed % 2 == 0 ? both_jobs() : rivals();
    StillEngine brief(config, dataplane::kUdpAddresses, {41, 0});
    StillEngine full(config, dataplane::kUdpAddresses, {41, 0});
    outbox_ = std::make_unique<Outbox>(4096);
    std::uint16_t epochs[2] = {};
    int incarnation = 0;
    for (int turn = 0; turn < 400; ++turn) {
      for (std::uint32_t j = 0; j < 2; ++j) {
        if (brief.running_epoch(kJobs[j])) continue;
        ++incarnation;
        epochs[j] = join_all(brief, kJobs[j], incarnation);
        ASSERT_EQ(epochs[j], join_all(full, kJobs[j], incarnation));
      }
      const std::uint32_t j = prng.below(2);
      if (prng.below(200) == 0) {
        const bool exclude = prng.below(2) == 0;
        const std::uint32_t child = prng.below(kRanks);
        const Ruling ruling = brief.exclude(kJobs[j], child, exclude, std::nullopt, *outbox_);
        if (ruling.refusal == Ruling::Refusal::none) ++rulings;
        const auto said = take_sent();
        full.exclude(kJobs[j], child, exclude, std::nullopt, *outbox_);
        const auto also_said = take_sent();
        ASSERT_TRUE(std::equal(said.begin(), said.end(), also_said.begin(), also_said.end(), same));
      }
      Made made = random_packet(prng, j, epochs[j], brief.accepted_before(kJobs[j], 0));
      if (prng.below(12) == 0) spoil(made, prng);
      if (prng.below(30) == 0) made.header.flags |= wire::kFlagCe;
      const auto bare = Parsed::of(made, false);
      const auto padded = Parsed::of(made, true);
      ASSERT_EQ(bare.has_value(), padded.has_value());
      if (!bare) continue;
      const bool marked = prng.below(20) == 0;
      wire::Packet one = bare->packet;
      wire::Packet other = padded->packet;
      one.congestion_experienced = other.congestion_experienced = marked;
      const Decision d = brief.on_packet(one, made.from, now_, *outbox_);
      const auto said = take_sent();
      const Decision e = full.on_packet(other, made.from, now_, *outbox_);
      const auto also_said = take_sent();
      ASSERT_EQ(d.verdict, e.verdict);
      ASSERT_EQ(d.reason, e.reason);
      ASSERT_TRUE(std::equal(said.begin(), said.end(), also_said.begin(), also_said.end(),
                             same_but_for_padding));
      if (d.verdict == Verdict::folded) ++folded;
      if (d.verdict == Verdict::completed) ++completed;
      now_ = now_ + Duration::us(prng.below(3000));
      brief.expire(now_, *outbox_);
      const auto due = take_sent();
      full.expire(now_, *outbox_);
      const auto also_due = take_sent();
      ASSERT_TRUE(std::equal(due.begin(), due.end(), also_due.begin(), also_due.end(), same));
    }
    expect_same_figures(brief, full, now_);
    preempted += brief.counters(1).preemptions.get();
  }
  EXPECT_GT(folded, 1'000u);
  EXPECT_GT(completed, 1'000u);
  EXPECT_GT(rulings, 50u);
  EXPECT_GT(preempted, 50u);
}

}  // namespace
}  // namespace tributary::aggregator
