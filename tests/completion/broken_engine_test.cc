// A defect in what the completion engine knows of a job ends that job's epoch, and is told its
// switch as long as it asks.
#include "completion/engine/engine_impl.h"
#include "tests/completion/engine_fixture.h"
#include "tests/core/survived_breaches.h"

namespace tributary::completion {
namespace {

class BreakableEngine : public Engine {
 public:
  using Engine::Engine;
  [[nodiscard]] Job& inside(std::size_t index) { return *impl_->jobs[index]; }
};

class BrokenEngine : public CompletionTest {
 protected:
  void SetUp() override {
    build(test_limits(2));
    auto breakable = std::make_unique<BreakableEngine>(std::span(&limits_, 1));
    breakable_ = breakable.get();
    engine_ = std::move(breakable);
    engine_->start_epoch(limits_.id, kEpoch, 0, kTerm);
  }
  void expect_aborted() {
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
    EXPECT_EQ(sent_[0].header.epoch, kEpoch);
    EXPECT_EQ(sent_[0].header.reason, wire::Reason::broken_invariant);
    EXPECT_EQ(counters().aborts_broken.get(), 1u);
  }

  BreakableEngine* breakable_ = nullptr;
};

TEST_F(BrokenEngine, WhatIsCoveredAndHowMuchAreTwoThings) {
  const SurvivedBreaches breaches;
  single<std::int32_t>(0, 0, {1});
  Chunk* chunk = nullptr;
  ASSERT_EQ(breakable_->inside(0).find(0, 0, chunk), Job::Find::found);
  chunk->covered_count = 0;  // it says so, and its set that rank 0 is here
  EXPECT_EQ(single<std::int32_t>(1, 0, {2}).verdict, Verdict::epoch_aborted);
  EXPECT_EQ(breaches.count(), 1u);
  expect_aborted();
  single<std::int32_t>(1, 0, {2});
  expect_aborted();  // said again, counted once
  engine_->start_epoch(limits_.id, kEpoch, 0, kTerm);
  single<std::int32_t>(0, 0, {1});
  single<std::int32_t>(1, 0, {2});
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), (std::vector<std::int32_t>{3}));
  EXPECT_EQ(breaches.count(), 1u);
}

TEST_F(BrokenEngine, AChunkForWhichThereIsNoPiece) {
  const SurvivedBreaches breaches;
  Job& job = breakable_->inside(0);
  single<std::int32_t>(0, 0, {1});
  while (job.take_piece() != nullptr) {
  }
  EXPECT_TRUE(job.broken);
  EXPECT_EQ(single<std::int32_t>(1, 0, {2}).verdict, Verdict::epoch_aborted);
  expect_aborted();
  engine_->start_epoch(limits_.id, kEpoch, 0, kTerm);
  single<std::int32_t>(0, 0, {1});
  single<std::int32_t>(1, 0, {2});
  ASSERT_EQ(sent_.size(), 1u) << "all pieces are back";
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::result);
}

// What is noticed while nothing comes is told with the time.
TEST_F(BrokenEngine, TheClockTellsIt) {
  breakable_->inside(0).broken = true;
  expire();
  expect_aborted();
  expire();
  EXPECT_TRUE(sent_.empty());
}

}  // namespace
}  // namespace tributary::completion
