// When a running session asks for results that do not come, and when it does not (rule 6).
#include <gmock/gmock.h>

#include "tests/worker/session_fixture.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

class SessionProbe : public SessionTest {
 protected:
  std::vector<Sent> probes_for(Duration d) { return of_type(run_for(d), PacketType::probe); }
  void start_in_groups(std::uint32_t group, std::uint32_t window) {
    options.loss_group = group;
    create();
    start(start_info(window));
  }
  static std::vector<std::uint32_t> seqs(const std::vector<Sent>& all) {
    std::vector<std::uint32_t> s;
    for (const Sent& one : all) s.push_back(one.header.seq);
    return s;
  }
};

// While a straggler sleeps, one chunk of a shard is asked about, ever more rarely; not each of the
// window.
TEST_F(SessionProbe, AStragglerIsAskedAboutSeldom) {
  start(start_info(64));
  submit(4 * 64);
  drain();
  std::vector<std::int64_t> gaps_ms;
  Instant last = now;
  while (gaps_ms.size() < 24) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe)) {
      EXPECT_EQ(p.header.seq, 0u);
      gaps_ms.push_back((now - last).to_ns() / 1'000'000);
      last = now;
      receive_missing(answer(p, PacketType::pending), {2});
      receive_missing(answer(p, PacketType::pending), {2});  // a duplicate does not count
    }
  }
  gaps_ms.erase(gaps_ms.begin() + 8, gaps_ms.end() - 2);
  EXPECT_THAT(gaps_ms, ElementsAre(20, 20, 20, 20, 20, 25, 31, 39, 250, 250));
  EXPECT_EQ(session->counters().resends.get(), 0u);
}

// Rule 23: a switch that says nothing for a lease is lost; not one that is never asked, and not one
// that answers while a rank is late.
TEST_F(SessionProbe, Rule23_ASwitchThatAnswersNoProbeForALeaseIsLost) {
  options.ends_in_silence = true;
  create();
  wire::StartInfo info = start_info();
  info.lease_ms = 400;
  start(info);
  run_for(Duration::seconds(5));
  submit(8);
  drain();
  const Instant end = now + Duration::seconds(5);
  while (now < end) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe))
      receive_missing(answer(p, PacketType::pending), {2});
  }
  ASSERT_EQ(session->state(), SessionState::running);
  run_for(Duration::ms(399));
  EXPECT_EQ(session->state(), SessionState::running);
  run_for(Duration::seconds(2));
  ASSERT_EQ(session->state(), SessionState::failed);
  EXPECT_EQ(session->failure()->reason, wire::Reason::parent_lost);
  EXPECT_EQ(session->failure()->text,
            "job 1: the switch at udp://10.0.0.1 did not answer for 0.4 s");
}

// The straggler came, and the last result was lost: a quarter of the time waited, not a second.
TEST_F(SessionProbe, AResultLostAfterALongWaitIsAskedForSoon) {
  start(start_info());
  submit(8);
  const auto sent = drain();
  const Instant began = now;
  while (now < began + Duration::ms(700)) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe))
      receive_missing(answer(p, PacketType::pending), {2});
  }
  EXPECT_LE(session->next_wakeup(), now + (now - began) / 4);

  // Any result of the shard ends the patience with it.
  receive_result(sent[0]);
  EXPECT_THAT(probes_for(Duration::ms(19)), IsEmpty());
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(1u));
}

// A later result passed it: no need to wait for a timeout.
TEST_F(SessionProbe, AnOvertakenChunkIsProbedAfterAMillisecond) {
  start(start_info(8));
  submit(4 * 4);
  const auto sent = drain();
  receive_result(sent[2]);
  EXPECT_THAT(probes_for(Duration::us(999)), IsEmpty());
  const auto probes = probes_for(Duration::us(1));
  EXPECT_THAT(seqs(probes), ElementsAre(0u, 1u));  // 3 was sent after 2
  receive(answer(probes[0], PacketType::unknown));
  const auto again = of_type(drain(), PacketType::contribution);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].header.flags & wire::kFlagResend, wire::kFlagResend);
}

// Late is not lost.
TEST_F(SessionProbe, AnOvertakenResultThatComesInTimeIsNotAskedFor) {
  start(start_info(8));
  submit(4 * 3);
  const auto sent = drain();
  receive_result(sent[2]);
  run_for(Duration::us(900));
  receive_result(sent[0]);
  receive_result(sent[1]);
  EXPECT_THAT(probes_for(Duration::ms(50)), IsEmpty());
  EXPECT_TRUE(session->idle());
}

// Another rank's data was lost: asked about once, and again only when something sent after the
// answer has passed it too.
TEST_F(SessionProbe, APendingChunkIsAskedAgainOnlyUponNews) {
  start(start_info(4));
  submit(4 * 8);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 4u);
  receive_result(sent[1]);
  const auto probes = probes_for(Duration::ms(1));
  ASSERT_THAT(seqs(probes), ElementsAre(0u));
  receive_missing(answer(probes[0], PacketType::pending), {2});
  receive_result(sent[2]);
  receive_result(sent[3]);
  EXPECT_THAT(probes_for(Duration::ms(9)), IsEmpty());
  // Nothing more may be sent, so nothing can pass it: the shard's timer takes over.
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(0u));
}

// All that was sent is lost, and so one probe finds it out for the whole window.
TEST_F(SessionProbe, AnUnknownAfterSilenceMakesTheRestSuspect) {
  start(start_info(8));
  submit(4 * 8);
  drain();
  const auto first = probes_for(Duration::ms(20));
  ASSERT_THAT(seqs(first), ElementsAre(0u));
  receive(answer(first[0], PacketType::unknown));
  EXPECT_EQ(of_type(drain(), PacketType::contribution).size(), 1u);
  const auto rest = probes_for(Duration::ms(1));
  EXPECT_THAT(seqs(rest), ElementsAre(1u, 2u, 3u, 4u, 5u, 6u, 7u));
  for (const Sent& p : rest) receive(answer(p, PacketType::unknown));
  EXPECT_EQ(of_type(drain(), PacketType::contribution).size(), 7u);
  EXPECT_EQ(session->counters().resends.get(), 8u);
}

// One lost contribution in a busy stream does not make the others suspect.
TEST_F(SessionProbe, AnUnknownInTheMiddleOfAStreamConcernsThatChunkOnly) {
  start(start_info(8));
  submit(4 * 8);
  const auto sent = drain();
  receive_result(sent[1]);
  const auto first = probes_for(Duration::ms(1));
  ASSERT_THAT(seqs(first), ElementsAre(0u));
  receive(answer(first[0], PacketType::unknown));
  drain();
  EXPECT_THAT(probes_for(Duration::ms(5)), IsEmpty());
}

TEST_F(SessionProbe, SilentSwitchIsProbedLessAndLessOften) {
  start(start_info(64));
  submit(4 * 64);
  drain();
  const auto probes = probes_for(Duration::seconds(5));
  EXPECT_LE(probes.size(), 11u);
  EXPECT_GE(probes.size(), 8u);
}

// A result that comes by itself is none that was asked for, also after a probe that PENDING
// answered.
TEST_F(SessionProbe, ResultsThatHadToBeAskedForAreCounted) {
  start(start_info(16));
  submit(4 * 3);
  const auto sent = drain();
  receive_result(sent[0]);
  EXPECT_EQ(session->counters().asked_results.get(), 0u);
  ASSERT_THAT(probes_for(Duration::ms(200)), testing::Not(IsEmpty()));
  receive_result(sent[1]);
  EXPECT_EQ(session->counters().asked_results.get(), 1u);
  EXPECT_EQ(session->counters().results.get(), 2u);
}

// O5: results of a group may come in any order; when its last one has come, what is missing of the
// group is probed together.
TEST_F(SessionProbe, O5_AGroupIsCheckedWhenItsLastResultComes) {
  start_in_groups(4, 16);
  submit(4 * 12);
  const auto sent = drain();
  receive_result(sent[2]);
  receive_result(sent[1]);
  EXPECT_THAT(probes_for(Duration::ms(5)), IsEmpty()) << "reordered within the group";
  receive_result(sent[3]);
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(0u));

  receive_result(sent[7]);
  EXPECT_THAT(seqs(probes_for(Duration::ms(2))), ElementsAre(4u, 5u, 6u));
  EXPECT_EQ(session->counters().probes.get(), 4u);
}

TEST_F(SessionProbe, O5_AResultOfALaterGroupChecksTheGroupsBefore) {
  start_in_groups(4, 16);
  submit(4 * 12);
  const auto sent = drain();
  receive_result(sent[0]);
  receive_result(sent[9]);
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(1u, 2u, 3u, 4u, 5u, 6u, 7u))
      << "8 is of the same group as 9";
}

// There may be no later one for a long time.
TEST_F(SessionProbe, O5_TheLastChunkSentEndsItsGroup) {
  start_in_groups(4, 16);
  submit(4 * 6);
  const auto sent = drain();
  for (std::size_t i = 0; i < 4; ++i) receive_result(sent[i]);
  receive_result(sent[5]);
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(4u));
}

TEST_F(SessionProbe, O5_AfterASilenceTheOldestGroupIsProbedTogether) {
  start_in_groups(4, 16);
  submit(4 * 12);
  const auto sent = drain();
  receive_result(sent[1]);
  EXPECT_THAT(probes_for(Duration::us(9'999)), IsEmpty());
  const auto probes = probes_for(Duration::us(1));
  ASSERT_THAT(seqs(probes), ElementsAre(0u, 2u, 3u));
  // A straggler: the group is asked about, ever more rarely, and no other one.
  for (const Sent& p : probes) receive_missing(answer(p, PacketType::pending), {2});
  std::size_t more = 0;
  for (const Instant end = now + Duration::seconds(2); now < end;) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe)) {
      EXPECT_LT(p.header.seq, 4u);
      receive_missing(answer(p, PacketType::pending), {2});
      ++more;
    }
  }
  EXPECT_GE(more, 3u * 8);
  EXPECT_LE(more, 3u * 24);
}

TEST_F(SessionProbe, O5_AnUnknownAfterSilenceMakesOtherGroupsSuspect) {
  start_in_groups(4, 8);
  submit(4 * 8);
  drain();
  const auto first = probes_for(Duration::ms(20));
  ASSERT_THAT(seqs(first), ElementsAre(0u, 1u, 2u, 3u));
  for (const Sent& p : first) receive(answer(p, PacketType::unknown));
  EXPECT_EQ(of_type(drain(), PacketType::contribution).size(), 4u);
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(4u, 5u, 6u, 7u));
}

// A group that the window can't hold would never be complete.
TEST_F(SessionProbe, O5_GroupsAreAtMostAWindow) {
  start_in_groups(64, 2);
  submit(4 * 4);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 2u);
  receive_result(sent[1]);
  EXPECT_THAT(seqs(probes_for(Duration::ms(1))), ElementsAre(0u));
}

// Each shard has its own oldest chunk.
TEST_F(SessionProbe, ShardsAreSilentEachForItself) {
  start(start_info(4, 16, 2));
  submit(4 * 8);
  const auto sent = drain();
  run_for(Duration::ms(10));
  for (const Sent& s : sent)
    if (s.header.shard == 0 && s.header.seq < 3) receive_result(s);
  // Three samples of 10 ms make a timeout of 21.25 ms.
  auto probes = probes_for(Duration::us(11'250));
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0].header.shard, 1);
  receive_missing(answer(probes[0], PacketType::pending), {2});
  probes = probes_for(Duration::ms(10));
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0].header.shard, 0);
  EXPECT_EQ(probes[0].header.seq, 3u);
}

// What a transport had no room for is not forgotten.
TEST_F(SessionProbe, RejectedAckIsSentAgain) {
  start(start_info(4));
  submit(8);
  for (const Sent& s : drain()) receive_result(s);
  now = now + Duration::ms(10);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 1u);
  session->rejected(batch, 0);
  EXPECT_LE(session->next_wakeup(), now);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::ack);
  EXPECT_EQ(sent[0].header.seq, 2u);
  EXPECT_THAT(of_type(run_for(Duration::ms(100)), PacketType::ack), IsEmpty());
}

TEST_F(SessionProbe, RejectedProbeIsAskedAgainWithoutBackingOff) {
  start(start_info());
  submit(4);
  drain();
  now = now + Duration::ms(20);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 1u);
  session->rejected(batch, 0);
  EXPECT_EQ(probes_for(Duration::ms(1)).size(), 1u);
  EXPECT_EQ(probes_for(Duration::ms(20)).size(), 1u);
}

TEST_F(SessionProbe, RejectedLeaseIsSentAgain) {
  start(start_info());
  now = now + Duration::ms(1000);
  session->poll(now, batch);
  ASSERT_EQ(batch.size(), 1u);
  ASSERT_EQ(batch.tag(0).type, PacketType::lease);
  session->rejected(batch, 0);
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.type, PacketType::lease);
  EXPECT_THAT(run_for(Duration::ms(999)), IsEmpty());
}

}  // namespace
}  // namespace tributary::worker
