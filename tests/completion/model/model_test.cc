// The model by itself (T21): each op's update once, whole steps, snapshots, what is refused.
#include "completion/model/model.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace tributary::completion {
namespace {

using config::OptimizerConfig;
using config::OptimizerKind;
using wire::Collective;
using wire::Reason;

using Values = std::vector<float>;

// Arrays of 5 and 2 parameters in blocks of 2: 2 + 2 + 1, and 2.
class ModelTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kRoot = 77;
  static constexpr std::uint64_t kRun = 0x0123'4567'89AB'CDEF;
  struct Place {
    std::uint16_t array;
    std::uint32_t chunk;
    std::uint16_t count;
    bool last;
  };
  static constexpr std::array<Place, 4> kPlaces = {
      {{0, 0, 2, false}, {0, 1, 2, false}, {0, 2, 1, true}, {1, 0, 2, true}}};

  ModelTest() { build(); }
  void build(const std::string& directory = "/nowhere", std::uint32_t every = 1'000'000) {
    optimizer_.kind = OptimizerKind::sgd;
    optimizer_.parameters = {5, 2};
    optimizer_.rate = 1;
    optimizer_.momentum = 0.5;
    optimizer_.checkpoint = {directory, every};
    model_ = std::make_unique<Model>(optimizer_, 8);
    model_->begin(kRoot, 1);
  }

  Reason ask(Collective collective, std::uint32_t op, const Place& at, Values& values) {
    aggregator::ChunkDescription d;
    d.collective = collective;
    d.op = op;
    d.chunk = at.chunk;
    d.target = at.array;
    d.element_count = static_cast<std::uint16_t>(values.size());
    d.dtype = wire::DType::float32;
    d.last = at.last;
    return model_->answer(d, std::as_writable_bytes(std::span(values)));
  }
  // What the place answers; its values are all `v`.
  Values ask(Collective collective, std::uint32_t op, std::size_t place, float v,
             Reason expected = Reason::none) {
    Values values(kPlaces.at(place).count, v);
    EXPECT_EQ(ask(collective, op, kPlaces.at(place), values), expected) << place;
    return values;
  }
  void open_all(float v = 10) {
    for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::open, 0, i, v);
  }
  void step_all(std::uint32_t op, float gradient) {
    for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::update, op, i, gradient);
  }
  // Op `op` tells the run, in chunks of two words.
  Reason tell(std::uint32_t op, const wire::ModelRun& run) {
    const wire::ModelRunWords words = wire::words_of(run);
    for (std::uint32_t chunk : {1u, 0u, 2u}) {
      const Place at{wire::kModelStep, chunk, static_cast<std::uint16_t>(chunk < 2 ? 2 : 1),
                     chunk == 2};
      std::array<std::uint32_t, 2> sum{};
      std::copy_n(words.begin() + 2 * chunk, at.count, sum.begin());
      const Reason said = tell(op, at, std::as_writable_bytes(std::span(sum).first(at.count)));
      if (said != Reason::none) return said;
    }
    return Reason::none;
  }
  Reason tell(std::uint32_t op, const Place& at, std::span<std::byte> sum) {
    aggregator::ChunkDescription d;
    d.collective = Collective::open;
    d.op = op;
    d.chunk = at.chunk;
    d.target = at.array;
    d.element_count = at.count;
    d.dtype = wire::DType::uint32;
    d.last = at.last;
    return model_->answer(d, sum);
  }
  std::uint32_t next_step() {
    std::uint32_t next = 99;
    aggregator::ChunkDescription d;
    d.collective = Collective::open;
    d.target = wire::kModelStep;
    d.element_count = 1;
    d.dtype = wire::DType::uint32;
    d.last = true;
    EXPECT_EQ(model_->answer(d, std::as_writable_bytes(std::span(&next, 1))), Reason::none);
    return next;
  }
  Values snapshot() const {
    Values v(model_->snapshot().size() / sizeof(float));
    std::memcpy(v.data(), model_->snapshot().data(), model_->snapshot().size());
    return v;
  }

  OptimizerConfig optimizer_;
  std::unique_ptr<Model> model_;
};

TEST_F(ModelTest, TakesFirstValuesOnce) {
  EXPECT_EQ(model_->block_count(), 4u);
  EXPECT_EQ(next_step(), 0u);
  EXPECT_EQ(ask(Collective::open, 0, 0, 10), (Values{10, 10}));
  EXPECT_EQ(next_step(), 0u);
  open_all(20);
  EXPECT_EQ(ask(Collective::open, 1, 0, 30), (Values{10, 10}));
  EXPECT_EQ(ask(Collective::open, 1, 3, 30), (Values{20, 20}));
  EXPECT_EQ(next_step(), 1u);
  EXPECT_EQ(model_->step(), 0u);
}

TEST_F(ModelTest, AppliesEachOpOnce) {
  open_all();
  EXPECT_EQ(ask(Collective::update, 5, 0, 2), (Values{8, 8}));
  // The same op again, whatever it brings.
  EXPECT_EQ(ask(Collective::update, 5, 0, 2), (Values{8, 8}));
  EXPECT_EQ(ask(Collective::update, 5, 0, 77), (Values{8, 8}));
  EXPECT_EQ(model_->counters().repeated.get(), 2u);
  EXPECT_EQ(model_->counters().updates.get(), 1u);
  for (std::size_t i = 1; i < 4; ++i) ask(Collective::update, 5, i, 2);
  EXPECT_EQ(model_->step(), 1u);
  // Momentum: 0.5 x 2 + 4.
  EXPECT_EQ(ask(Collective::update, 6, 0, 4), (Values{3, 3}));
  // Still: what the last two ops made is there, op 4 is over.
  EXPECT_EQ(ask(Collective::update, 6, 0, 4), (Values{3, 3}));
  EXPECT_EQ(ask(Collective::update, 5, 0, 4), (Values{8, 8}));
  ask(Collective::update, 4, 0, 4, Reason::model_mismatch);
  EXPECT_EQ(model_->counters().updates.get(), 5u);
}

TEST_F(ModelTest, RefusesWhatItCannotContinue) {
  ask(Collective::update, 1, 0, 1, Reason::model_lost);  // no rank has opened it
  ask(Collective::open, 0, 0, 10);
  ask(Collective::update, 1, 0, 1, Reason::model_lost);  // other blocks have no values
  open_all();
  step_all(1, 1);
  ask(Collective::update, 2, 0, 1);
  // Twice, before the rest has had its step.
  ask(Collective::update, 3, 0, 1, Reason::model_mismatch);
  model_->begin(kRoot, 2);
  ask(Collective::update, 4, 0, 1, Reason::model_lost);  // not opened in this epoch
  EXPECT_EQ(model_->counters().refused.get(), 4u);
  EXPECT_EQ(model_->step(), 1u);
}

// What was opened before was another one's.
TEST_F(ModelTest, AnswersNothingInAnEpochThatItHasNotBegun) {
  open_all();
  step_all(1, 1);
  model_->begin(kRoot, 2);
  model_->miss_beginning();
  ask(Collective::open, 0, 0, 10, Reason::model_lost);
  ask(Collective::update, 1, 0, 1, Reason::model_lost);
  model_->begin(kRoot, 2);  // another shard's word for it
  ask(Collective::open, 0, 0, 10, Reason::model_lost);
  model_->begin(kRoot, 3);
  EXPECT_EQ(next_step(), 2u);
  ask(Collective::open, 0, 0, 10);
}

TEST_F(ModelTest, RefusesOtherArrays) {
  const auto refused = [&](Place at, std::size_t count) {
    Values v(count, 1.0f);
    return ask(Collective::open, 0, at, v) == Reason::model_mismatch;
  };
  EXPECT_TRUE(refused({2, 0, 2, true}, 2));  // no such array
  EXPECT_TRUE(refused({0, 3, 2, true}, 2));  // beyond its end
  EXPECT_TRUE(refused({0, 0xFFFFFFFF, 2, false}, 2));
  EXPECT_TRUE(refused({0, 0, 2, true}, 2));   // it does not end there
  EXPECT_TRUE(refused({0, 2, 1, false}, 1));  // it does end there
  EXPECT_TRUE(refused({0, 1, 1, false}, 1));  // too short
  EXPECT_TRUE(refused({aggregator::ChunkDescription::kNoTarget, 0, 2, true}, 2));
  EXPECT_EQ(next_step(), 0u);
}

TEST_F(ModelTest, AnEpochThatEndsHalfWayIsTakenBack) {
  open_all();
  step_all(1, 2);
  EXPECT_EQ(ask(Collective::update, 2, 0, 4), (Values{3, 3}));
  ask(Collective::update, 2, 1, 4);
  model_->begin(kRoot, 2);
  EXPECT_EQ(next_step(), 2u);
  EXPECT_EQ(model_->counters().taken_back.get(), 2u);
  EXPECT_EQ(ask(Collective::open, 0, 0, 55), (Values{8, 8}));
  open_all();
  // With the momentum of then, too.
  EXPECT_EQ(ask(Collective::update, 1, 0, 4), (Values{3, 3}));
  // Beginning it again does nothing.
  model_->begin(kRoot, 2);
  EXPECT_EQ(ask(Collective::update, 1, 0, 4), (Values{3, 3}));
  EXPECT_EQ(model_->counters().repeated.get(), 1u);
}

// After a drain (T21): nothing is sent again, half a step is as it was, and the rest of it follows.
TEST_F(ModelTest, ARunGoesOnInTheNextEpoch) {
  ASSERT_EQ(tell(0, {kRun, 0, false}), Reason::none);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::open, 1, i, 10);
  step_all(2, 2);
  ask(Collective::update, 3, 0, 4);
  ask(Collective::update, 3, 1, 4);
  model_->begin(kRoot, 2);
  ASSERT_EQ(tell(0, {kRun, 3, true}), Reason::none);
  EXPECT_EQ(ask(Collective::update, 1, 2, 4), (Values{3}));
  EXPECT_EQ(ask(Collective::update, 1, 3, 4), (Values{3, 3}));
  EXPECT_EQ(model_->step(), 2u);
  EXPECT_EQ(model_->counters().taken_back.get(), 0u);
  // A number that an op of the epoch before had is another op's here.
  EXPECT_EQ(ask(Collective::update, 2, 0, 1), (Values{-0.5f, -0.5f}));
  EXPECT_EQ(model_->counters().repeated.get(), 0u);
}

// After a loss: what some blocks have taken is answered, the others take it now.
TEST_F(ModelTest, AnUpdateThatIsSentAgainIsAppliedOnce) {
  ASSERT_EQ(tell(3, {kRun, 0, false}), Reason::none);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::open, 4, i, 10);  // op 0
  step_all(5, 2);                                                                    // op 1
  ask(Collective::update, 6, 0, 4);                                                  // op 2
  ask(Collective::update, 6, 3, 4);
  for (std::uint16_t epoch = 2; epoch < 4; ++epoch) {
    model_->begin(kRoot + epoch, epoch);
    ASSERT_EQ(tell(1, {kRun, 1, true}), Reason::none);
    // Op 1, whose parameters are a step behind in blocks 0 and 3.
    for (std::size_t i = 0; i < kPlaces.size(); ++i)
      EXPECT_EQ(ask(Collective::update, 2, i, 2).front(), 8) << i;
    EXPECT_EQ(ask(Collective::update, 3, 0, 4), (Values{3, 3}));
    EXPECT_EQ(ask(Collective::update, 3, 1, 4), (Values{3, 3}));
  }
  EXPECT_EQ(model_->counters().updates.get(), 7u);
  ask(Collective::update, 3, 2, 4);
  EXPECT_EQ(model_->step(), 2u);
  EXPECT_EQ(ask(Collective::update, 4, 0, 1), (Values{-0.5f, -0.5f}));
}

// An open that is sent again gives what held before the updates that followed it.
TEST_F(ModelTest, AnOpenThatIsSentAgainGivesWhatHeldThen) {
  ASSERT_EQ(tell(0, {kRun, 0, false}), Reason::none);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::open, 1, i, 10);
  step_all(2, 2);
  model_->begin(kRoot, 2);
  ASSERT_EQ(tell(0, {kRun, 0, true}), Reason::none);
  EXPECT_EQ(ask(Collective::open, 1, 0, 0), (Values{10, 10}));
  EXPECT_EQ(ask(Collective::update, 2, 0, 2), (Values{8, 8}));
  step_all(3, 2);
  // Both versions are of later ops.
  ask(Collective::open, 1, 0, 0, Reason::model_mismatch);
}

TEST_F(ModelTest, AnotherRunBeginsAtAWholeStep) {
  ASSERT_EQ(tell(0, {kRun, 0, false}), Reason::none);
  for (std::size_t i = 0; i < kPlaces.size(); ++i) ask(Collective::open, 1, i, 10);
  step_all(2, 2);
  ask(Collective::update, 3, 0, 4);
  model_->begin(kRoot, 2);
  ASSERT_EQ(tell(0, {kRun + 1, 0, false}), Reason::none);
  EXPECT_EQ(model_->counters().taken_back.get(), 1u);
  ask(Collective::update, 1, 0, 4, Reason::model_lost);  // not opened in this run
  EXPECT_EQ(ask(Collective::open, 2, 0, 0), (Values{8, 8}));
}

TEST_F(ModelTest, RefusesARunThatItDoesNotKnow) {
  EXPECT_EQ(tell(0, {kRun, 5, true}), Reason::model_lost);  // it was another incarnation's
  model_->begin(kRoot, 2);
  EXPECT_EQ(tell(0, {0, 0, false}), Reason::model_mismatch);
  model_->begin(kRoot, 3);
  ASSERT_EQ(tell(0, {kRun, 0, false}), Reason::none);
  EXPECT_EQ(tell(0, {kRun, 0, false}), Reason::none) << "asked again, under another term";
  EXPECT_EQ(tell(4, {kRun + 1, 0, false}), Reason::model_mismatch) << "one epoch, two runs";
  std::array<std::uint32_t, 2> two{};
  const auto said = [&](const Place& at) {
    return tell(0, at, std::as_writable_bytes(std::span(two).first(at.count)));
  };
  EXPECT_EQ(said({wire::kModelStep, 3, 1, true}), Reason::model_mismatch);
  EXPECT_EQ(said({wire::kModelStep, 2, 2, true}), Reason::model_mismatch);
  EXPECT_EQ(said({wire::kModelStep, 1, 2, true}), Reason::model_mismatch);
  EXPECT_EQ(said({wire::kModelStep, 0xFFFFFFFF, 1, false}), Reason::model_mismatch);
  EXPECT_EQ(model_->counters().refused.get(), 7u);
}

TEST_F(ModelTest, FirstValuesOfTwoEpochsDoNotMix) {
  ask(Collective::open, 0, 0, 10);
  model_->begin(kRoot, 2);
  open_all(20);
  EXPECT_EQ(ask(Collective::open, 1, 0, 0), (Values{20, 20}));
}

TEST_F(ModelTest, KnowsWhichEpochsAreOver) {
  model_->begin(kRoot, 0xFFFF);
  EXPECT_TRUE(model_->is_over(kRoot, 0xFFFE));
  EXPECT_FALSE(model_->is_over(kRoot, 2));  // it has wrapped
  EXPECT_FALSE(model_->is_over(kRoot + 1, 0xFFFE));
}

// Copied before, while and after the model goes on: the same values.
TEST_F(ModelTest, ASnapshotIsOfOneStep) {
  for (const std::size_t updates : {0u, 1u, 3u, 4u, 5u, 8u, 9u, 13u}) {
    build();
    open_all();
    step_all(1, 2);
    model_->begin_snapshot();
    EXPECT_FALSE(model_->snapshot_ready());
    std::uint32_t op = 2;
    for (std::size_t i = 0; i < updates; ++i) {
      ask(Collective::update, op, i % 4, 3);
      if (i % 4 == 3) ++op;
    }
    model_->copy_some(1u << 20);
    ASSERT_TRUE(model_->snapshot_ready());
    EXPECT_EQ(model_->snapshot_step(), 1u);
    Values expected(14, 8.0f);
    std::fill(expected.begin() + 7, expected.end(), 2.0f);
    EXPECT_EQ(snapshot(), expected) << updates;
  }
}

TEST_F(ModelTest, SnapshotsComeWithTheirSteps) {
  build("/nowhere", 3);
  open_all();
  for (std::uint32_t op = 1; op <= 2; ++op) step_all(op, 1);
  model_->copy_some(1u << 20);
  EXPECT_FALSE(model_->snapshot_ready());
  step_all(3, 1);
  model_->copy_some(1);  // a block at least, not all
  EXPECT_FALSE(model_->snapshot_ready());
  // Under way: the next one has to wait for its turn.
  for (std::uint32_t op = 4; op <= 6; ++op) step_all(op, 1);
  model_->copy_some(1u << 20);
  ASSERT_TRUE(model_->snapshot_ready());
  EXPECT_EQ(model_->snapshot_step(), 3u);
  model_->let_go_of_snapshot();
  for (std::uint32_t op = 7; op <= 9; ++op) step_all(op, 1);
  EXPECT_EQ(model_->snapshot_step(), 9u);
  // Without a folder there are none.
  build("", 1);
  open_all();
  step_all(1, 1);
  model_->copy_some(1u << 20);
  EXPECT_FALSE(model_->snapshot_ready());
}

// T21: what goes on from a checkpoint has the bits of what was never interrupted.
TEST_F(ModelTest, GoesOnFromASnapshot) {
  for (const std::uint32_t before : {1u, 2u}) {
    build();
    open_all();
    for (std::uint32_t op = 1; op <= before; ++op) step_all(op, 2.5f);
    model_->begin_snapshot();
    model_->copy_some(1u << 20);
    const Values saved = snapshot();
    step_all(10, 0.75f);
    const Values uninterrupted = ask(Collective::update, 11, 2, 1);

    build();
    model_->restore(before, std::as_bytes(std::span(saved)));
    EXPECT_EQ(next_step(), before + 1);
    open_all(1234);
    step_all(1, 0.75f);
    EXPECT_EQ(ask(Collective::update, 2, 2, 1), uninterrupted);
  }
  EXPECT_THROW(model_->restore(1, {}), std::invalid_argument);
}

TEST_F(ModelTest, MemoryIsWhatTheConfigurationSays) {
  EXPECT_EQ(config::model_bytes(optimizer_), 7u * 2 * 4 * 3);
  EXPECT_GE(model_->memory_bytes(), config::model_bytes(optimizer_));
  EXPECT_LE(model_->memory_bytes(), config::model_bytes(optimizer_) + 400);
}

}  // namespace
}  // namespace tributary::completion
