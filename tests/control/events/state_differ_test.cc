#include "control/events/state_differ.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::control {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::ElementsAre;
using testing::IsEmpty;

class Differ : public testing::Test {
 protected:
  // "LEVEL KIND JOB: text" of each.
  std::vector<std::string> look(int at = 0) {
    std::vector<std::string> lines;
    for (const Event& e : differ_.look(state_, system_clock::time_point(seconds(at))))
      lines.push_back(std::string(name_of(e.level)) + " " + e.kind +
                      (e.job ? " " + std::to_string(*e.job) : "") + ": " + e.text);
    return lines;
  }
  SwitchState::Job& job() { return state_.jobs.front(); }

  SwitchState state_{.jobs = {{1, 0, "train", false, 0, 4, 0, "", {}}}, .seats = {}, .drops = {}};
  StateDiffer differ_;
};

TEST_F(Differ, TellsWhenEpochsBeginAndWhyTheyEnd) {
  EXPECT_THAT(look(), IsEmpty());
  job().running = true;
  job().epoch = 7;
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 7 runs with 4 ranks"));
  EXPECT_THAT(look(), IsEmpty());
  job() = {1, 0, "train", false, 7, 4, 1, "worker-lost", {2, 3}};
  EXPECT_THAT(look(), ElementsAre("error epoch 1: 'train' epoch ended: worker-lost; rank(s) 2, 3"));
  job().running = true;
  job().epoch = 8;
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 8 runs with 4 ranks"));
  job().running = false;
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 8 is over: its ranks left"));
}

TEST_F(Differ, TellsOfEpochsThatEndedBetweenTwoLooks) {
  job().running = true;
  look();
  job().epoch = 9;
  job().aborts = 3;
  job().last_abort = "deadline";
  EXPECT_THAT(look(), ElementsAre("error epoch 1: 'train' epoch ended: deadline; the latest of 3",
                                  "notice epoch 1: 'train' epoch 9 runs with 4 ranks"));
}

// O1: whose change it was, and how long callers waited.
TEST_F(Differ, TellsOfEpochsThatWereDrainedAndHowLongRanksWaited) {
  job().running = true;
  job().epoch = 7;
  look();
  job().running = false;
  job().drains = 1;
  job().drained_by = 201;
  job().drained_at = 42;
  EXPECT_THAT(look(),
              ElementsAre("notice epoch 1: 'train' epoch drained after 42 ops, for a change "
                          "of switch 201"));
  EXPECT_THAT(look(), IsEmpty());
  job().running = true;
  job().epoch = 8;
  job().pause_us = 12'340;
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 8 runs with 4 ranks, which waited "
                                  "12.3 ms"));
  job().epoch = 10;
  job().drains = 3;
  EXPECT_THAT(look(),
              ElementsAre("notice epoch 1: 'train' epoch drained after 42 ops, for a change "
                          "of switch 201; the latest of 2",
                          "notice epoch 1: 'train' epoch 10 runs with 4 ranks, which "
                          "waited 12.3 ms"));
  job().running = false;
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 10 is over: its ranks left"));
}

TEST_F(Differ, KnowsNothingOfAJobThatCameBack) {
  job().aborts = 3;
  EXPECT_THAT(look(), IsEmpty());
  const auto jobs = std::exchange(state_.jobs, {});
  look();
  state_.jobs = jobs;
  job().aborts = 5;
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(Differ, TellsWhenAnotherHostServes) {
  state_.seats = {{1, 0, "ps1", "listed"}};
  EXPECT_THAT(look(), IsEmpty());
  state_.seats = {{1, 0, "ps2", "failover"}};
  EXPECT_THAT(look(), ElementsAre("warning host 1: shard 0 is completed at ps2, no longer at ps1 "
                                  "(failover)"));
}

TEST_F(Differ, TellsOfDropsThatBeginOncePerMinute) {
  state_.drops = {{"w0", "checksum", 3}};
  EXPECT_THAT(look(0), ElementsAre("warning drops: port w0 drops packets: checksum (3 so far)"));
  state_.drops[0].packets = 9;
  EXPECT_THAT(look(30), IsEmpty());
  state_.drops[0].packets = 12;
  EXPECT_THAT(look(89), IsEmpty()) << "it never stopped for a minute";
  EXPECT_THAT(look(200), IsEmpty());
  state_.drops[0].packets = 13;
  EXPECT_THAT(look(201), ElementsAre("warning drops: port w0 drops packets: checksum (1 so far)"));
  state_.drops[0].packets = 2;
  EXPECT_THAT(look(400), IsEmpty()) << "another port of that name";
}

}  // namespace
}  // namespace tributary::control
