#include "control/events/event_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using aggregator::EpochRecord;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> texts(const EventLog& log) {
  std::vector<std::string> all;
  for (const Event& event : log.since({})) all.push_back(event.text);
  return all;
}

// Two epochs that began and ended since the look before.
std::vector<SeenEpoch> two_epochs() {
  std::vector<SeenEpoch> seen;
  for (std::uint64_t nth = 0; nth < 4; ++nth) {
    EpochRecord record;
    record.serial = nth + 1;
    record.nth = nth;
    record.first = 1;
    record.job = 7;
    record.epoch = static_cast<std::uint16_t>(5 + nth / 2);
    record.count = 3;
    record.what = nth % 2 == 0 ? EpochRecord::What::began : EpochRecord::What::left;
    seen.push_back({0, record, std::chrono::system_clock::now()});
  }
  return seen;
}

TEST(EventWatchTimed, TellsOfEveryEpochBetweenTwoLooks) {
  EventLog log(nullptr);
  {
    bool told = false;
    const EventWatch watch(
        [&told] {
          SwitchState state;
          state.jobs = {{7, "train"}};
          if (!std::exchange(told, true)) state.epochs = two_epochs();
          return state;
        },
        log);
  }
  EXPECT_THAT(
      texts(log),
      ElementsAre("'train' epoch 5 runs with 3 ranks", "'train' epoch 5 is over: its ranks left",
                  "'train' epoch 6 runs with 3 ranks", "'train' epoch 6 is over: its ranks left"));
}

TEST(EventWatchTimed, OutlivesALoopThatDoesNotAnswer) {
  EventLog log(nullptr);
  {
    const EventWatch watch([]() -> SwitchState { throw std::runtime_error("silent"); }, log);
  }
  EXPECT_THAT(texts(log), IsEmpty());
}

TEST(SwitchLookTimed, HasTheJobsOfTheConfiguration) {
  RunningSwitch running;
  SwitchLook look(running.get());
  const SwitchState state = look();
  EXPECT_EQ(state.jobs, (EpochLines::Names{{7, "train"}}));
  EXPECT_TRUE(state.whole);
  EXPECT_THAT(state.epochs, IsEmpty());
  EXPECT_EQ(state.children.size(), 3u);
}

}  // namespace
}  // namespace tributary::control
