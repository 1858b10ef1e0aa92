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

  SwitchState state_;
  StateDiffer differ_;
};

TEST_F(Differ, TellsOfEpochs) {
  state_.jobs = {{1, "train"}};
  aggregator::EpochRecord begun;
  begun.serial = begun.first = 1;
  begun.job = 1;
  begun.epoch = 7;
  begun.count = 4;
  state_.epochs = {{0, begun, {}}};
  EXPECT_THAT(look(), ElementsAre("notice epoch 1: 'train' epoch 7 runs with 4 ranks"));
  state_.epochs = {};
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
