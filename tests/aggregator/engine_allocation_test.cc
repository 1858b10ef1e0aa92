// Whatever a packet or a deadline leads to, the engine allocates nothing: all that it needs was
// taken when it was made. Counts what the whole test program allocates.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/aggregator/engine_fixture.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
  if (void* const memory = std::aligned_alloc(alignment, whole * alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
// Those that may fail are replaced with the others, or AddressSanitizer would see its own memory
// come back through them.
void* operator new(std::size_t bytes, const std::nothrow_t& /*may_fail*/) noexcept {
  return allocate(bytes, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace tributary::aggregator {
namespace {

using wire::PacketType;

// Three ranks and one job, which may be any; it escalates what is late.
class AllocationTest : public EngineTest {
 protected:
  static config::JobConfig escalating() {
    config::JobConfig job = test_job(3);
    job.on_deadline = config::OnDeadline::escalate;
    return job;
  }
  void run(const config::JobConfig& job, std::uint32_t slots = 64) {
    config::SwitchConfig c = test_switch({job});
    c.slots = slots;
    c.cache.megabytes = 1;
    build(c);
    join_all();
    const std::size_t before = allocations;
    for (std::uint32_t seq = 0; seq < 40; ++seq) one_chunk(seq);
    EXPECT_EQ(allocations, before);
  }
  // Not of the fixture's: those keep copies.
  Decision give(const wire::Header& h, std::span<const std::byte> payload = {}) {
    const Decision d = engine_->on_packet({h, {}, payload}, peer(h.origin), now_, *outbox_);
    outbox_->clear();
    return d;
  }
  Decision data(std::uint32_t rank, std::uint32_t seq, std::uint32_t flags = 0) {
    wire::Header h = data_header(rank, seq, 4);
    h.flags |= flags;
    return give(h, std::as_bytes(std::span(values_)));
  }
  Decision ask(std::uint32_t rank, std::uint32_t seq) {
    wire::Header h = header(PacketType::probe, rank);
    h.op = h.seq = seq;
    h.covered = 1;
    return give(h);
  }
  Decision hold(std::uint32_t rank, std::uint32_t before) {
    wire::Header h = header(PacketType::ack, rank);
    h.seq = before;
    return give(h);
  }
  // What the completion host makes of it.
  void answer(std::uint32_t seq) {
    wire::Header h = data_header(0, seq, 4);
    h.type = PacketType::result;
    h.covered = 3;
    engine_->on_host_packet({h, {}, std::as_bytes(std::span(values_))}, now_, *outbox_);
    outbox_->clear();
  }
  // First, twice, further, asked for, and one in three late or resent.
  void one_chunk(std::uint32_t seq) {
    engine_->begin_burst();
    data(seq % 3, seq);
    data(seq % 3, seq);
    engine_->prefetch_entry(data_header(0, seq, 4));
    data((seq + 1) % 3, seq);
    engine_->end_burst();
    ask(0, seq);
    ask((seq + 2) % 3, seq);
    ++kinds_[static_cast<std::size_t>(engine_->chunk_state(0, 0, seq))];
    if (seq % 3 == 1) {
      now_ = now_ + Duration::ms(500);
      engine_->expire(now_, *outbox_);
      outbox_->clear();
    }
    data((seq + 2) % 3, seq, seq % 3 == 2 ? wire::kFlagResend | wire::kFlagAtPs : 0);
    ++kinds_[static_cast<std::size_t>(engine_->chunk_state(0, 0, seq))];
    answer(seq);
    for (std::uint32_t rank = 0; rank < 3; ++rank) ask(rank, seq);
    data(0, seq, wire::kFlagResend);
    for (std::uint32_t rank = 0; rank < 3; ++rank) hold(rank, seq + 1);
    ask(1, seq);
    data(1, seq, wire::kFlagResend);
    (void)engine_->look(data_header(0, seq, 4));
    EXPECT_EQ(engine_->chunk_state(0, 0, seq), ChunkState::released);
  }
  [[nodiscard]] std::uint32_t seen(ChunkState state) const {
    return kinds_[static_cast<std::size_t>(state)];
  }
  std::array<std::uint32_t, 8> kinds_{};
  std::array<std::int32_t, 4> values_{1, 2, 3, 4};
};

TEST_F(AllocationTest, FromTheFirstContributionToTheLastProbe) {
  run(escalating());
  EXPECT_GT(seen(ChunkState::open), 0u);
  EXPECT_GT(seen(ChunkState::complete), 0u);
  EXPECT_GT(seen(ChunkState::escalated), 0u);
  EXPECT_GT(counters().cache_hits.get(), 0u);
  EXPECT_GT(counters().pending_replies.get(), 0u);
  EXPECT_GT(counters().escalations[static_cast<std::size_t>(wire::Reason::deadline)].get(), 0u);
  EXPECT_GT(counters().escalations[static_cast<std::size_t>(wire::Reason::resend)].get(), 0u);
}

TEST_F(AllocationTest, SumsThatAreHeldInOrderOrSentToBeVerified) {
  config::JobConfig held = escalating();
  held.order = wire::Order::reproducible;
  held.trigger = config::Trigger::collect;
  run(held);
  config::JobConfig verified = escalating();
  verified.verify = true;
  verified.release = config::Release::returned;
  run(verified);
  EXPECT_GT(seen(ChunkState::sent), 0u);
}

TEST_F(AllocationTest, SlotsOfAPoolAndWhatFindsNone) {
  config::JobConfig job = escalating();
  job.slots = config::SlotMode::dynamic;
  job.quota = 1;
  run(job, 4);
}

// The end of an epoch, too: it comes with a packet, or with time.
TEST_F(AllocationTest, ADeadlineOrADisagreementThatEndsTheEpoch) {
  for (const bool late : {true, false}) {
    build(3);
    join_all();
    const std::size_t before = allocations;
    data(0, 0);
    if (late) now_ = now_ + Duration::ms(500);
    engine_->expire(now_, *outbox_);
    outbox_->clear();
    if (!late) {
      EXPECT_EQ(give(data_header(1, 0, 1), std::as_bytes(std::span(values_)).first(4)).verdict,
                Verdict::epoch_aborted);
    }
    EXPECT_EQ(data(2, 0).reason, DropReason::aborted);
    EXPECT_EQ(allocations, before);
  }
}

}  // namespace
}  // namespace tributary::aggregator
