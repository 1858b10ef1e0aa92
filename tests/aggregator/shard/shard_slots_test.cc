// Dynamic slots: collision, quota, fair share, preemption, another seed (O1, O7, O8; rule 8).
#include "aggregator/chunk/slot_pool.h"
#include "core/wire/rank_bitmap.h"
#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

class SlotsTest : public EngineTest {
 protected:
  static config::JobConfig dynamic_job(std::uint32_t id) {
    config::JobConfig job = test_job(2, 4);
    job.id = id;
    job.slots = config::SlotMode::dynamic;
    return job;
  }
  // Jobs 7 and 8 share `slots` slots; both run.
  void build_two(std::uint32_t slots, std::vector<config::JobConfig> jobs,
                 Duration preempt_idle = {}, bool preempt_busy = false) {
    config::SwitchConfig c = test_switch(std::move(jobs));
    c.slots = slots;
    c.preempt_idle = preempt_idle;
    c.preempt_busy = preempt_busy;
    build(c, {41, begin_});
    for (std::size_t j = 0; j < 2; ++j) {
      for (std::uint32_t r = 0; r < 2; ++r) {
        std::array<std::byte, 16> buffer;
        wire::ExtensionWriter ext(buffer);
        ext.add_nonce(nonce(r, 0));
        wire::Header h = header(PacketType::join, r);
        h.job = engine_->job_config(j).id;
        deliver({h, ext.bytes(), {}}, peer(r));
      }
      epochs_[j] = sent_.at(0).header.epoch;
    }
  }
  Decision give(std::size_t job, std::uint32_t rank, std::uint32_t seq, std::int32_t value) {
    wire::Header h = data_header(rank, seq, 1);
    h.job = engine_->job_config(job).id;
    h.epoch = epochs_[job];
    return deliver({h, {}, std::as_bytes(std::span(&value, 1))}, peer(rank));
  }
  // The completion host's result of a chunk.
  void finish(std::size_t job, std::uint32_t seq) {
    wire::Header h = data_header(0, seq, 1);
    h.type = PacketType::result;
    h.job = engine_->job_config(job).id;
    h.epoch = epochs_[job];
    h.covered = engine_->job_config(job).workers;
    const std::int32_t value = 2;
    sent_.clear();
    EXPECT_TRUE(
        engine_->on_host_packet({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_));
    collect();
  }
  [[nodiscard]] std::uint64_t escalated(std::size_t job, wire::Reason reason) const {
    return engine_->counters(job).escalations[static_cast<std::size_t>(reason)].get();
  }
  std::array<std::uint16_t, 2> epochs_{};
  std::uint32_t begin_ = 0;  // the first seq of an epoch
};

// O8: a chunk whose slot another chunk holds goes to the completion host, announced, then all of
// it; and the owner's sum is left alone.
TEST_F(SlotsTest, CollidedChunkGoesToTheCompletionHost) {
  build_two(4, {dynamic_job(7), dynamic_job(8)});
  for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 1);
  std::uint32_t collided = 4;
  for (std::uint32_t s = 0; s < 4 && collided == 4; ++s)
    if (give(1, 0, s, 50).verdict == Verdict::forwarded) collided = s;
  ASSERT_LT(collided, 4u);
  EXPECT_EQ(engine_->chunk_state(1, 0, collided), ChunkState::escalated);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.type, PacketType::escalation);
  EXPECT_EQ(sent_[0].header.covered, 0u);
  EXPECT_EQ(sent_[1].header.type, PacketType::contribution);
  EXPECT_NE(sent_[1].header.flags & wire::kFlagCollision, 0u);
  EXPECT_EQ(give(1, 1, collided, 60).verdict, Verdict::forwarded);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{60});
  EXPECT_EQ(give(1, 1, collided, 60).reason, DropReason::duplicate);
  EXPECT_EQ(engine_->counters(1).forwarded.get(), 2u);
  for (std::uint32_t s = 0; s < 2; ++s) {
    EXPECT_EQ(give(0, 1, s, 2).verdict, Verdict::completed);
    EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{3});
  }
}

TEST_F(SlotsTest, JobDoesNotCollideWithItself) {
  build_two(5, {dynamic_job(7), dynamic_job(8)});
  for (std::uint32_t s = 0; s < 40; ++s) {
    give(0, 0, s, 1);
    EXPECT_EQ(give(0, 1, s, 1).verdict, Verdict::completed) << s;
  }
  EXPECT_EQ(engine_->counters(0).collisions.get(), 0u);
}

TEST_F(SlotsTest, QuotaBoundsWhatAJobHolds) {
  config::JobConfig limited = dynamic_job(7);
  limited.quota = 2;
  build_two(16, {limited, dynamic_job(8)});
  EXPECT_EQ(give(0, 0, 0, 1).verdict, Verdict::opened);
  EXPECT_EQ(give(0, 0, 1, 1).verdict, Verdict::opened);
  EXPECT_EQ(give(0, 0, 2, 1).verdict, Verdict::forwarded);
  EXPECT_EQ(escalated(0, wire::Reason::no_slot), 1u);
  give(0, 1, 0, 1);  // one is free again
  EXPECT_EQ(give(0, 0, 3, 1).verdict, Verdict::opened);
}

// A greedy job can't starve another: what the other is guaranteed stays free.
TEST_F(SlotsTest, GuaranteedShareStaysFree) {
  build_two(6, {dynamic_job(7), dynamic_job(8)});
  std::uint32_t greedy = 0;
  for (std::uint32_t s = 0; s < 4; ++s) greedy += give(0, 0, s, 1).verdict == Verdict::opened;
  EXPECT_EQ(greedy, 3u);  // half of six
  EXPECT_EQ(escalated(0, wire::Reason::no_slot), 1u);
}

// One keeps all that it can get, for ever. A chunk of the other, within its share, takes back what
// is in its way; what the former had so far goes to its completion host.
TEST_F(SlotsTest, O7_AGreedyJobDoesNotStarveAnother) {
  config::JobConfig greedy = dynamic_job(7);
  greedy.window = 32;
  build_two(32, {greedy, dynamic_job(8)});
  std::uint32_t held = 0;
  for (std::uint32_t s = 0; s < 32; ++s) held += give(0, 0, s, 1).verdict == Verdict::opened;
  EXPECT_EQ(held, 28u) << "all but the other's share";
  std::uint32_t summed = 0;
  for (std::uint32_t s = 0; s < 400; ++s) {
    const std::uint64_t taken = engine_->counters(0).preemptions.get();
    const bool opened = give(1, 0, s, 1).verdict == Verdict::opened;
    if (engine_->counters(0).preemptions.get() != taken) {
      EXPECT_EQ(sent_.at(0).to, Outgoing::To::completion_host);
      EXPECT_EQ(sent_[0].header.job, 7u);
      EXPECT_EQ(sent_[0].header.covered, 1u);
    }
    const Decision last = give(1, 1, s, 1);
    EXPECT_EQ(last.verdict, opened ? Verdict::completed : Verdict::forwarded) << s;
    if (!opened) finish(1, s);
    summed += opened ? 1 : 0;
  }
  EXPECT_EQ(escalated(1, wire::Reason::no_slot), 0u);
  EXPECT_GE(summed, 200u) << "at last half of the slots are the former's own";
  EXPECT_EQ(engine_->counters(0).slots_open.get(), 28 - engine_->counters(0).preemptions.get());
  EXPECT_GE(engine_->counters(0).slots_open.get(), 16u) << "its own share is left alone";
}

TEST_F(SlotsTest, WhatNobodyElseIsGuaranteedMayBeBorrowed) {
  config::JobConfig modest = dynamic_job(8);
  modest.quota = 1;
  build_two(6, {dynamic_job(7), modest});
  for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(give(0, 0, s, 1).verdict, Verdict::opened);
}

// What the lower one has so far is not lost: it goes to the completion host with what it covers.
TEST_F(SlotsTest, O7_HigherPriorityTakesTheSlot) {
  config::JobConfig high = dynamic_job(8);
  high.priority = 1;
  build_two(4, {dynamic_job(7), high}, {}, true);
  for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 41);
  std::size_t taken = 0;
  for (std::uint32_t s = 0; s < 2; ++s) {
    EXPECT_EQ(give(1, 0, s, 1).verdict, Verdict::opened);
    if (sent_.empty()) continue;
    ++taken;
    EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
    EXPECT_EQ(sent_[0].header.job, 7u);
    EXPECT_EQ(sent_[0].header.covered, 1u);
    std::array<std::uint64_t, 1> ranks{};
    EXPECT_TRUE(wire::read_rank_bitmaps(sent_[0].extensions, 2, ranks));
    EXPECT_EQ(ranks[0], 1u);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{41});
  }
  EXPECT_EQ(engine_->counters(0).preemptions.get(), taken);
  // Beyond its share it takes none away from the other, whatever its priority.
  for (std::uint32_t s = 2; s < 4; ++s) EXPECT_EQ(give(1, 0, s, 1).verdict, Verdict::forwarded);
  EXPECT_EQ(escalated(1, wire::Reason::no_slot), 2u);
  EXPECT_EQ(engine_->counters(0).preemptions.get(), taken);
  EXPECT_EQ(engine_->counters(1).collisions.get(), 0u);
}

// Four seqs in a row have the four slots in turn, so the two that are held are met.
TEST_F(SlotsTest, O7_EveryHeldSlotIsTakenByHigherPriority) {
  config::JobConfig high = dynamic_job(8);
  high.priority = 1;
  build_two(4, {dynamic_job(7), high}, {}, true);
  for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 41);
  for (std::uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(give(1, 0, s, 1).verdict, Verdict::opened);
    EXPECT_EQ(give(1, 1, s, 1).verdict, Verdict::completed);
  }
  EXPECT_EQ(engine_->counters(0).preemptions.get(), 2u);
  EXPECT_EQ(escalated(0, wire::Reason::no_slot), 2u);
}

TEST_F(SlotsTest, O7_IdleSlotMayBeTakenByAnEqual) {
  for (const auto idle_for : {Duration::ms(49), Duration::ms(50)}) {
    build_two(4, {dynamic_job(7), dynamic_job(8)}, Duration::ms(50));
    for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 1);
    now_ = now_ + idle_for;
    std::uint64_t collided = 0;
    for (std::uint32_t s = 0; s < 4; ++s) {
      if (give(1, 0, s, 1).verdict == Verdict::forwarded) ++collided;
      give(1, 1, s, 1);
    }
    const bool idle = idle_for == Duration::ms(50);
    EXPECT_EQ(engine_->counters(0).preemptions.get(), idle ? 2u : 0u);
    EXPECT_EQ(collided != 0, !idle);
  }
}

// How many of two held slots of job 7 the four seqs of job 8 take, which meet them all.
class PreemptTest : public SlotsTest {
 protected:
  std::uint64_t taken(std::uint8_t owner, std::uint8_t other, Duration preempt_idle, bool busy,
                      Duration idle_for) {
    config::JobConfig first = dynamic_job(7);
    config::JobConfig second = dynamic_job(8);
    first.priority = owner;
    second.priority = other;
    build_two(4, {first, second}, preempt_idle, busy);
    for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 41);
    now_ = now_ + idle_for;
    for (std::uint32_t s = 0; s < 4; ++s) {
      give(1, 0, s, 1);
      give(1, 1, s, 1);
    }
    const std::uint64_t taken = engine_->counters(0).preemptions.get();
    // The sum of a chunk that kept its slot goes on; that of one that lost it is at the completion
    // host.
    for (std::uint32_t s = 0; s < 2; ++s) give(0, 1, s, 1);
    EXPECT_EQ(engine_->counters(0).completions.get(), 2 - taken);
    EXPECT_EQ(escalated(0, wire::Reason::no_slot), taken);
    EXPECT_EQ(engine_->counters(1).collisions.get() != 0, taken != 2);
    return taken;
  }
  static constexpr Duration kIdle = Duration::ms(50);
  static constexpr Duration kNotYet = Duration::ms(49);
};

TEST_F(PreemptTest, O7_NothingIsTakenUnlessTheOperatorSaysSo) {
  EXPECT_EQ(taken(0, 9, {}, false, Duration::ms(400)), 0u);
  EXPECT_EQ(taken(0, 0, {}, false, Duration::ms(400)), 0u);
}

TEST_F(PreemptTest, O7_AHigherPriorityTakesWhatIsIdle) {
  EXPECT_EQ(taken(0, 9, kIdle, false, kNotYet), 0u) << "it gets contributions";
  EXPECT_EQ(taken(0, 9, kIdle, false, kIdle), 2u);
}

TEST_F(PreemptTest, O7_ALowerPriorityTakesNothingHoweverIdle) {
  EXPECT_EQ(taken(9, 0, kIdle, false, Duration::ms(400)), 0u);
  EXPECT_EQ(taken(9, 8, kIdle, true, Duration::ms(400)), 0u);
}

TEST_F(PreemptTest, O7_WhatIsBusyIsTakenByAHigherPriorityAlone) {
  EXPECT_EQ(taken(0, 9, {}, true, Duration()), 2u);
  EXPECT_EQ(taken(0, 0, {}, true, Duration::ms(400)), 0u);
  EXPECT_EQ(taken(0, 0, kIdle, true, kNotYet), 0u);
}

// O9: a sum that was sent keeps its slot until the result is back, so that it can be sent again. It
// may lose it to another earlier: the chunk waits for its result all the same.
TEST_F(PreemptTest, O7_O9_ASlotWhoseSumWasSentMayBeTakenWhileItWaitsForTheResult) {
  for (const auto idle_for : {kNotYet, kIdle}) {
    config::JobConfig first = dynamic_job(7);
    first.verify = true;
    first.release = config::Release::returned;
    build_two(4, {first, dynamic_job(8)}, kIdle);
    for (std::uint32_t s = 0; s < 2; ++s) {
      give(0, 0, s, 1);
      give(0, 1, s, 1);
      EXPECT_EQ(engine_->chunk_state(0, 0, s), ChunkState::sent);
    }
    EXPECT_EQ(engine_->counters(0).slots_open.get(), 2u);
    now_ = now_ + idle_for;
    for (std::uint32_t s = 0; s < 4; ++s) {
      give(1, 0, s, 1);
      give(1, 1, s, 1);
    }
    const std::uint64_t taken = idle_for == kIdle ? 2 : 0;
    EXPECT_EQ(engine_->counters(0).preemptions.get(), taken);
    EXPECT_EQ(engine_->counters(0).slots_open.get(), 2 - taken);
    EXPECT_EQ(engine_->slot_holds().count(), taken + engine_->counters(1).completions.get());
    EXPECT_EQ(escalated(0, wire::Reason::no_slot), 0u) << "the host has the sum";
    for (std::uint32_t s = 0; s < 2; ++s) {
      finish(0, s);
      EXPECT_EQ(engine_->chunk_state(0, 0, s), ChunkState::complete);
      ASSERT_EQ(sent_.size(), 1u);
      EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{2});
    }
    EXPECT_EQ(engine_->counters(0).slots_open.get(), 0u);
    now_ = now_ + Duration::ms(500);
    expire();
    EXPECT_EQ(engine_->running_epoch(7).has_value(), true);
  }
}

// Rule 8: once no chunk can be before it, the next seed is the seed, and another collision may
// change it again, however many seqs later.
TEST_F(SlotsTest, NextSeedIsAdoptedWhenNobodyIsBeforeIt) {
  const SlotPool pool(8, {4, 4});
  // Seqs may wrap before the collision, between it and where the seed changes, or after that.
  for (std::uint32_t before_wrap = 0; before_wrap < 12; ++before_wrap) {
    begin_ = 0u - before_wrap;
    build_two(8, {dynamic_job(7), dynamic_job(8)});
    for (std::uint32_t i = 0; i < 4; ++i) give(0, 0, begin_ + i, 1);
    std::uint32_t collided = 0;
    for (; give(1, 0, begin_ + collided, 1).verdict != Verdict::forwarded; ++collided) {
      give(1, 1, begin_ + collided, 1);
      ASSERT_LT(collided, 8u);
    }
    const std::uint32_t from = collided + 4;
    for (std::uint32_t i = 0; i < 4; ++i) give(0, 1, begin_ + i, 1);  // the neighbour goes away
    give(1, 1, begin_ + collided, 1);
    finish(1, begin_ + collided);
    for (std::uint32_t i = collided; i <= from; ++i) {
      if (engine_->chunk_state(1, 0, begin_ + i) == ChunkState::unseen) {
        EXPECT_EQ(give(1, 0, begin_ + i, 1).verdict, Verdict::opened);
        wire::Header h = data_header(0, begin_ + i, 1);
        h.job = 8;
        h.epoch = epochs_[1];
        EXPECT_EQ(engine_->look(h).slot, pool.slot_of(8, i < from ? 0 : 1, begin_ + i)) << i;
        EXPECT_EQ(give(1, 1, begin_ + i, 1).verdict, Verdict::completed);
      }
      ASSERT_EQ(sent_.at(0).header.seed_generation, 1);
      const auto info = wire::find_result_info(sent_.at(0).extensions);
      ASSERT_EQ(info.has_value(), i < from) << i << ", " << before_wrap << " before the wrap";
      if (info) {
        EXPECT_EQ(info->effective_from_seq, begin_ + from);
      }
    }
  }
}

// Where seqs wrap, the places of a pool whose size is no power of two do not follow each other: so
// many chunks meet an earlier one as the number space has seqs beyond a multiple of the size, if
// the window reaches that far. They are escalated, the seed changes, and every sum is right; the
// earlier chunk loses its slot to none of them but where the switch lets idle ones be taken.
TEST_F(SlotsTest, Rule8_SeqsThatWrapInAnOddPoolCollideAtMostAtTheWrap) {
  constexpr std::uint32_t kWindow = 8;
  constexpr std::uint32_t kBeforeWrap = 20;
  constexpr std::uint32_t kChunks = 60;
  std::uint64_t collided_at_all = 0;
  for (const bool preempts : {false, true})
    for (std::uint32_t slots = kWindow; slots <= 70; ++slots) {
      SCOPED_TRACE(std::to_string(slots) + " slots" + (preempts ? ", idle ones are taken" : ""));
      config::JobConfig job = dynamic_job(7);
      job.window = kWindow;
      config::SwitchConfig c = test_switch({job});
      c.slots = slots;
      if (preempts) c.preempt_idle = Duration::ns(1);
      begin_ = 0u - kBeforeWrap;
      build(c, {41, begin_});
      join_all();
      epochs_[0] = epoch_;
      const auto beyond = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % slots);
      const std::uint32_t colliding = beyond < kWindow ? beyond : 0;
      std::vector<bool> escalated_chunk(kChunks);
      for (std::uint32_t i = 0; i < kChunks; ++i) {
        now_ = now_ + Duration::ms(1);
        const Verdict v = give(0, 0, begin_ + i, static_cast<std::int32_t>(i)).verdict;
        escalated_chunk[i] = v == Verdict::forwarded;
        const std::uint32_t after_wrap = i - kBeforeWrap;
        // From the first window after the collision on, the seed is another one.
        if (!preempts && after_wrap >= colliding && (colliding == 0 || after_wrap > kWindow * 2)) {
          EXPECT_EQ(v, Verdict::opened) << after_wrap;
        }
        if (!preempts && after_wrap < colliding) {
          EXPECT_EQ(v, Verdict::forwarded) << after_wrap;
        }
        if (i + 1 < kWindow) continue;
        const std::uint32_t last = i + 1 - kWindow;  // the window is full: its first completes
        const auto value = static_cast<std::int32_t>(last);
        const bool elsewhere = engine_->chunk_state(0, 0, begin_ + last) == ChunkState::escalated;
        EXPECT_EQ(give(0, 1, begin_ + last, 1000).verdict,
                  elsewhere ? Verdict::forwarded : Verdict::completed);
        if (elsewhere) {
          finish(0, begin_ + last);
        } else {
          EXPECT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{value + 1000});
        }
        ASSERT_EQ(engine_->chunk_state(0, 0, begin_ + last), ChunkState::complete) << last;
      }
      const JobCounters total = engine_->counters(0);
      EXPECT_EQ(preempts ? total.preemptions.get() > 0 : total.collisions.get() > 0,
                colliding != 0);
      EXPECT_EQ(total.slots_open.get(), kWindow - 1);
      collided_at_all += colliding != 0 ? 1 : 0;
    }
  EXPECT_GT(collided_at_all, 8u);
}

// The seed is a byte: after 255 comes 0, which is as good as when it was the first.
TEST_F(SlotsTest, Rule8_TheSeedAfter255Is0) {
  build_two(4, {dynamic_job(7), dynamic_job(8)});
  for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 1);
  std::uint8_t seed = 0;
  std::uint32_t changes = 0;
  for (std::uint32_t seq = 0; changes < 520; ++seq) {
    ASSERT_LT(seq, 20'000u) << changes;
    const bool collides = give(1, 0, seq, 1).verdict == Verdict::forwarded;
    give(1, 1, seq, 1);
    if (collides) finish(1, seq);
    ASSERT_EQ(engine_->chunk_state(1, 0, seq), ChunkState::complete);
    ASSERT_EQ(sent_.at(0).elements<std::int32_t>(), std::vector<std::int32_t>{2});
    const std::uint8_t next = sent_[0].header.seed_generation;
    if (next == seed) continue;
    EXPECT_EQ(next, static_cast<std::uint8_t>(seed + 1)) << changes;
    seed = next;
    ++changes;
  }
  EXPECT_EQ(engine_->counters(1).slots_open.get(), 0u);
  for (std::uint32_t s = 0; s < 2; ++s) EXPECT_EQ(give(0, 1, s, 1).verdict, Verdict::completed);
}

// No rank is heard of any more: the job's slots are the other job's at the end of its lease,
// whatever its deadline.
TEST_F(SlotsTest, O9_ADeadJobsSlotsAreFreeAtTheEndOfItsLease) {
  config::JobConfig dead = dynamic_job(7);
  dead.deadline = Duration::seconds(60);
  config::JobConfig other = dynamic_job(8);
  other.deadline = Duration::seconds(60);
  build_two(4, {dead, other});
  for (std::uint32_t s = 0; s < 2; ++s) EXPECT_EQ(give(0, 0, s, 1).verdict, Verdict::opened);
  const Instant died = now_;
  now_ = died + Duration::ms(600);
  for (std::uint32_t r = 0; r < 2; ++r) {
    wire::Header h = header(PacketType::lease, r);
    h.job = 8;
    h.epoch = epochs_[1];
    deliver(h, peer(r));
  }
  now_ = died + Duration::ms(999);
  expire();
  EXPECT_EQ(engine_->counters(0).slots_open.get(), 2u);
  now_ = died + Duration::ms(1000);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::lease_expired);
  EXPECT_EQ(engine_->counters(0).slots_open.get(), 0u);
  EXPECT_EQ(engine_->slot_holds().count(), 2u);
  EXPECT_EQ(engine_->slot_holds().total_ns.get(), 2'000'000'000u);
  EXPECT_EQ(engine_->counters(0).slot_hold_ns_max.get(), 1'000'000'000u);
  for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(give(1, 0, s, 1).verdict, Verdict::opened);
  EXPECT_EQ(engine_->counters(1).collisions.get(), 0u);
}

// A job that dies gives back all that it held.
TEST_F(SlotsTest, O9_EndOfAnEpochFreesItsSlots) {
  build_two(4, {dynamic_job(7), dynamic_job(8)});
  for (std::uint32_t s = 0; s < 2; ++s) give(0, 0, s, 1);
  now_ = now_ + Duration::ms(500);
  expire();
  EXPECT_EQ(engine_->counters(0).slots_open.get(), 0u);
  for (std::uint32_t s = 0; s < 4; ++s) EXPECT_EQ(give(1, 0, s, 1).verdict, Verdict::opened);
}

}  // namespace
}  // namespace tributary::aggregator
