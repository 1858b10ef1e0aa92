#include "control/events/late_children.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::control {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;
using testing::ElementsAre;
using testing::IsEmpty;

class LateChildrenTest : public testing::Test {
 protected:
  // A window in which each rank arrives so often, and is so late on average.
  std::vector<std::string> window(const std::vector<double>& ms, std::uint64_t arrivals = 100) {
    children_.resize(ms.size());
    for (std::size_t rank = 0; rank < ms.size(); ++rank) {
      children_[rank].job = 7;
      children_[rank].node = "rank " + std::to_string(rank);
      children_[rank].arrivals += arrivals;
      children_[rank].lateness_ns += static_cast<std::uint64_t>(ms[rank] * 1e6) * arrivals;
    }
    now_ += LateChildren::kWindow;
    return look();
  }
  std::vector<std::string> look() {
    std::vector<std::string> lines;
    for (const Event& e : late_.look(children_, now_))
      lines.push_back(std::string(name_of(e.level)) + " " + std::to_string(*e.job) + ": " + e.text);
    return lines;
  }

  std::vector<ChildTimes> children_ = std::vector<ChildTimes>(2);
  system_clock::time_point now_{seconds(100)};
  LateChildren late_;
};

TEST_F(LateChildrenTest, T13_ARankThatIsLateInEveryOpIsNamedOnce) {
  EXPECT_THAT(window({0, 0, 0}), IsEmpty()) << "the first look knows no window";
  EXPECT_THAT(window({0.1, 0, 12}),
              ElementsAre("warning 7: rank 2 is late in every op, though within the deadline: "
                          "12.0 ms behind the first on average"));
  EXPECT_THAT(window({0.1, 0, 14}), IsEmpty());
  EXPECT_THAT(window({0.1, 0, 1}),
              ElementsAre("notice 7: rank 2 is not late any more: 1.0 ms behind the first on "
                          "average"));
}

TEST_F(LateChildrenTest, T13_OneOfTwoRanksCanBeLate) {
  window({0, 0});
  EXPECT_THAT(window({0, 6}), testing::SizeIs(1));
}

TEST_F(LateChildrenTest, T13_RanksThatAreAllAsLateAreNot) {
  window({0, 0, 0, 0});
  EXPECT_THAT(window({8, 9, 10, 11}), IsEmpty());
  EXPECT_THAT(window({0, 1, 2, 4.9}), IsEmpty()) << "too little to matter";
}

TEST_F(LateChildrenTest, T13_FewArrivalsChangeNoJudgement) {
  window({0, 0});
  EXPECT_THAT(window({0, 50}, LateChildren::kLeastArrivals - 1), IsEmpty());
  EXPECT_THAT(window({0, 50}, LateChildren::kLeastArrivals), testing::SizeIs(1));
  EXPECT_THAT(window({0, 0}, 1), IsEmpty());
}

TEST_F(LateChildrenTest, T13_LooksWithinAWindowWaitForItsEnd) {
  window({0, 0});
  children_[1].arrivals += 100;
  children_[1].lateness_ns += 5'000'000'000;
  children_[0].arrivals += 100;
  now_ += seconds(1);
  EXPECT_THAT(look(), IsEmpty());
  now_ += LateChildren::kWindow;
  EXPECT_THAT(look(), testing::SizeIs(1));
}

TEST_F(LateChildrenTest, T13_AnotherJobInThePlaceBeginsAnew) {
  window({0, 0});
  window({0, 9});
  children_.assign(2, {});
  EXPECT_THAT(window({0, 9}, 50), IsEmpty()) << "fewer than before";
}

}  // namespace
}  // namespace tributary::control
