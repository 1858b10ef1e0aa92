#include "dataplane/rdma/connected/send_side.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kFirst = 0xFFFFFC;  // four before the wrap

class SendSideTest : public testing::Test {
 protected:
  SendSideTest() { side.start(kFirst); }
  void append(std::uint64_t count) {
    for (; count != 0; --count) ASSERT_TRUE(side.append({.n = next_++}));
  }
  // Sends all that is due; returns their chunks.
  std::vector<std::uint64_t> send() {
    std::vector<std::uint64_t> sent;
    while (const auto order = side.due()) {
      EXPECT_EQ(order->psn, psn(order->entry.n));
      sent.push_back(order->entry.n);
      side.note_sent(now);
    }
    return sent;
  }
  std::vector<std::uint64_t> acknowledge(std::uint64_t n) {
    std::vector<std::uint64_t> arrived;
    side.acknowledge(psn(n), now, [&](const SendSide::Entry& e) { arrived.push_back(e.n); });
    return arrived;
  }
  static std::uint32_t psn(std::uint64_t n) {
    return psn_after(kFirst, static_cast<std::uint32_t>(n));
  }

  SendSide side{32};
  Instant now = Instant::from_ns(1'000'000'000);

 private:
  std::uint64_t next_ = 0;
};
using Chunks = std::vector<std::uint64_t>;

TEST_F(SendSideTest, AnAcknowledgementCoversAllBeforeIt) {
  append(6);
  EXPECT_EQ(send(), (Chunks{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(acknowledge(4), (Chunks{0, 1, 2, 3, 4}));
  EXPECT_EQ(acknowledge(4), Chunks()) << "no news";
  EXPECT_EQ(acknowledge(6), Chunks()) << "nothing of that number is on its way";
  EXPECT_FALSE(side.is_idle());
  EXPECT_EQ(acknowledge(5), (Chunks{5}));
  EXPECT_TRUE(side.is_idle());
}

TEST_F(SendSideTest, GoBackN) {
  append(6);
  send();
  acknowledge(1);
  side.go_back(psn(2), Duration(), now);
  EXPECT_EQ(send(), (Chunks{2, 3, 4, 5}));
}

TEST_F(SendSideTest, ARankThatIsNotReadyIsSpared) {
  append(3);
  send();
  side.go_back(psn(0), Duration::ms(10), now);
  EXPECT_EQ(send(), Chunks());
  now = now + Duration::ms(9);
  EXPECT_FALSE(side.expire(now));
  now = now + Duration::ms(1);
  EXPECT_TRUE(side.expire(now));
  EXPECT_EQ(send(), (Chunks{0, 1, 2}));
}

TEST_F(SendSideTest, SilenceSendsAgainLaterEachTime) {
  append(2);
  send();
  for (Duration wait = SendSide::kFirstTimeout; wait < SendSide::kLastTimeout; wait = wait * 2) {
    now = now + wait - Duration::ns(1);
    EXPECT_FALSE(side.expire(now));
    now = now + Duration::ns(1);
    EXPECT_TRUE(side.expire(now));
    EXPECT_EQ(send(), (Chunks{0, 1}));
  }
  acknowledge(0);
  now = now + SendSide::kFirstTimeout;
  EXPECT_TRUE(side.expire(now)) << "an acknowledgement makes it patient no longer";
  EXPECT_EQ(send(), (Chunks{1}));
  acknowledge(1);
  now = now + Duration::seconds(10);
  EXPECT_FALSE(side.expire(now)) << "nothing is on its way";
}

TEST_F(SendSideTest, ANakIsAnAnswerAndTheNextSilenceBeginsAnew) {
  append(2);
  send();
  now = now + SendSide::kFirstTimeout;
  ASSERT_TRUE(side.expire(now));
  send();
  side.go_back(psn(0), Duration::ms(1), now);
  now = now + Duration::ms(1);
  ASSERT_TRUE(side.expire(now));
  send();
  now = now + SendSide::kFirstTimeout;
  EXPECT_TRUE(side.expire(now));
}

TEST_F(SendSideTest, SaysWhichAreSentAgain) {
  const auto again = [&] {
    std::vector<bool> all;
    for (; side.due(); side.note_sent(now)) all.push_back(side.due()->again);
    return all;
  };
  append(3);
  EXPECT_EQ(again(), (std::vector<bool>{false, false, false}));
  append(1);
  acknowledge(0);
  side.go_back(psn(1), Duration(), now);
  EXPECT_EQ(again(), (std::vector<bool>{true, true, false}));
}

TEST_F(SendSideTest, OnlySoManyAreOnTheWay) {
  SendSide large{256};
  large.start(0);
  for (std::uint64_t n = 0; n < 100; ++n) ASSERT_TRUE(large.append({.n = n}));
  std::uint32_t sent = 0;
  for (; large.due(); ++sent) large.note_sent(now);
  EXPECT_EQ(sent, SendSide::kMostOnTheWay);
  large.acknowledge(9, now, [](const SendSide::Entry&) {});
  for (; large.due(); ++sent) large.note_sent(now);
  EXPECT_EQ(sent, SendSide::kMostOnTheWay + 10);
}

TEST_F(SendSideTest, TheListIsBounded) {
  std::size_t room = 0;
  while (side.append({.n = room})) ++room;
  EXPECT_GE(room, 64u) << "results of twice the window";
  EXPECT_LE(room, 128u);
}

TEST_F(SendSideTest, AsksForAcknowledgementsNowAndThen) {
  append(20);
  std::uint32_t asked = 0;
  for (; side.due(); side.note_sent(now)) asked += side.due()->ask ? 1 : 0;
  EXPECT_GE(asked, 3u) << "the first, and every eighth";
  EXPECT_LE(asked, 4u);
  ASSERT_TRUE(side.append({.n = 20, .immediate = true}));
  EXPECT_TRUE(side.due()->ask) << "an op is whole";
}

TEST(RnrTime, IsThatOfTheStandard) {
  EXPECT_EQ(rnr_time(0), Duration::us(655'360));
  EXPECT_EQ(rnr_time(1), Duration::us(10));
  EXPECT_EQ(rnr_time(14), Duration::us(1280));
  EXPECT_EQ(rnr_time(20), Duration::us(10'240));
  EXPECT_EQ(rnr_time(31), Duration::us(491'520));
}

}  // namespace
}  // namespace tributary::dataplane
