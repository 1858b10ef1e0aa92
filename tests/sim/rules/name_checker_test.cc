// Named data: one value for a name, and calls that fail only for a cause.
#include "sim/rules/name_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

using Kind = worker::NameCall::Kind;

class NameCheckerTest : public SmallWorld {
 protected:
  NameCheckerTest() {
    scenario_.jobs[0].named_bytes = 100;
    build();
    failures_.emplace(run_, plan_);
    names_.emplace(run_, *failures_);
    world_.start_all();
  }
  NamedCall call(Kind kind, std::uint32_t index) {
    NamedCall named{std::make_shared<worker::NameCall>(), index, ranks_[0]->session()->epoch()};
    named.call->kind = kind;
    named.call->name = "value";
    names_->called(*ranks_[1], named);
    return named;
  }
  void end(const NamedCall& named) { names_->ended(*ranks_[1], named); }
  void fail(const NamedCall& named, wire::Reason reason) {
    named.call->failure = {reason, {}, "job 1: no answer", {}};
    end(named);
  }

  std::optional<FailureChecker> failures_;
  std::optional<NameChecker> names_;
};

TEST_F(NameCheckerTest, C4_AGetHasTheValueThatWasPut) {
  end(call(Kind::put, 3));
  const NamedCall get = call(Kind::get, 3);
  get.call->value = named_value(scenario_.jobs[0], ranks_[1]->options().workload_seed, 3);
  end(get);
  EXPECT_EQ(violation(), "");
  EXPECT_EQ(run_.reach().values_put, 1u);
  EXPECT_EQ(run_.reach().values_got, 1u);
  get.call->value.push_back(std::byte{});
  end(get);
  EXPECT_EQ(violation(), "job 1 rank 1: got another value than was put as value");
}

TEST_F(NameCheckerTest, AGetOfWhatNoRankHasPutMayFail) {
  fail(call(Kind::get, 3), wire::Reason::none);
  EXPECT_EQ(violation(), "");
}

TEST_F(NameCheckerTest, AGetOfWhatWasPutSucceedsWhereOnlyFramesAreLost) {
  end(call(Kind::put, 3));
  fail(call(Kind::get, 3), wire::Reason::none);
  EXPECT_EQ(violation(), "job 1 rank 1: job 1: no answer");
}

TEST_F(NameCheckerTest, AfterALostEpochCallsMayFail) {
  end(call(Kind::put, 3));
  scenario_.jobs[0].disagree = true;
  failures_->session_failed(*ranks_[0], {wire::Reason::op_mismatch, {}, "job 1: failed", {}});
  fail(call(Kind::get, 3), wire::Reason::none);
  EXPECT_EQ(violation(), "");
}

TEST_F(NameCheckerTest, NoRankPutsAnotherValue) {
  fail(call(Kind::get, 3), wire::Reason::name_taken);
  EXPECT_NE(violation().find("no rank puts another value"), std::string::npos) << violation();
}

}  // namespace
}  // namespace tributary::sim
