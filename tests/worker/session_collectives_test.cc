// Collectives other than allreduce, and types other than int32, as a session sends and takes them.
#include <gmock/gmock.h>

#include <list>

#include "tests/worker/session_fixture.h"
#include "worker/session/block_scaled.h"

namespace tributary::worker {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using wire::Collective;
using wire::DType;
using wire::PacketType;
using wire::ReduceOp;

// This rank is 1 of 3.
class Collectives : public SessionTest {
 protected:
  // An op over int32 arrays: `parts` × count in, `out_parts` × count out.
  Call& call(Collective collective, std::size_t count, std::uint32_t root = 0) {
    calls.push_back(std::make_unique<Call>());
    Call& c = *calls.back();
    const std::size_t parts = collective == Collective::reduce_scatter ? options.size : 1;
    for (std::size_t i = 0; i < count * parts; ++i) c.data.push_back(static_cast<std::int32_t>(i));
    c.op.data = reinterpret_cast<std::byte*>(c.data.data());
    c.op.count = count;
    c.op.dtype = DType::int32;
    c.op.collective = collective;
    c.op.root = root;
    outputs.emplace_back(count * (collective == Collective::all_gather ? options.size : 1), -1);
    c.op.output = reinterpret_cast<std::byte*>(outputs.back().data());
    session->submit(c.op, now);
    return c;
  }
  // RESULT of a chunk that this rank may not have sent.
  static wire::Header result(Collective collective, std::uint32_t op, std::uint32_t chunk,
                             std::uint16_t elements) {
    wire::Header h = from_switch(PacketType::result);
    h.collective = collective;
    h.op = op;
    h.chunk = chunk;
    h.seq = chunk;
    h.dtype = DType::int32;
    h.element_count = elements;
    h.covered = 3;
    return h;
  }
  // RESULT of the chunk with which a broadcast or an all_gather begins.
  void agree(Collective collective, std::uint32_t op = 0) { receive(result(collective, op, 0, 0)); }
  void receive_elements(const wire::Header& h, std::vector<std::int32_t> values) {
    receive(h, nullptr, std::as_bytes(std::span(values)));
  }
  std::vector<Sent> contributions() { return of_type(drain(), PacketType::contribution); }

  std::list<std::vector<std::int32_t>> outputs;
};

// T21: an update names its array with every chunk, and takes nothing for parameters that does not
// say that it is; nor does a sum take what says so.
TEST_F(Collectives, ParametersComeFromTheModelAlone) {
  start(start_info());
  Call& c = call(Collective::update, 6);
  c.op.array = 4;
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 2u);
  for (const Sent& s : sent) {
    EXPECT_EQ(s.header.collective, Collective::update);
    EXPECT_EQ(wire::find_target_rank(s.extensions), 4u);
  }
  wire::Header h = result(Collective::update, 0, 0, 4);
  receive_elements(h, {9, 9, 9, 9});
  EXPECT_EQ(session->counters().drops.get(DropReason::op_mismatch), 1u);
  h.flags |= wire::kFlagParams;
  receive_elements(h, {1, 2, 3, 4});
  EXPECT_EQ(session->counters().results.get(), 1u);
  EXPECT_EQ(c.data, (std::vector<std::int32_t>{1, 2, 3, 4, 4, 5}));

  call(Collective::allreduce, 2);
  contributions();
  h = result(Collective::allreduce, 1, 0, 2);
  h.seq = 2;
  h.flags |= wire::kFlagParams;
  receive_elements(h, {7, 7});
  EXPECT_EQ(session->counters().drops.get(DropReason::op_mismatch), 2u);
}

TEST_F(Collectives, ReduceNamesItsTargetAndOtherRanksGetNoData) {
  start(start_info());
  Call& c = call(Collective::reduce, 6, 2);
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 2u);
  for (const Sent& s : sent) {
    EXPECT_EQ(s.header.collective, Collective::reduce);
    EXPECT_EQ(wire::find_target_rank(s.extensions), 2u);
  }
  // Not meant for this rank.
  receive_elements(result(Collective::reduce, 0, 0, 4), {9, 9, 9, 9});
  EXPECT_EQ(session->counters().drops.get(DropReason::op_mismatch), 1u);
  receive(result(Collective::reduce, 0, 0, 0));
  receive(result(Collective::reduce, 0, 1, 0));
  EXPECT_EQ(session->take_finished(), &c.op);
  EXPECT_FALSE(c.op.failure);
  EXPECT_THAT(c.data, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(Collectives, TheTargetOfAReduceWaitsForTheData) {
  start(start_info());
  Call& c = call(Collective::reduce, 4, 1);
  drain();
  receive(result(Collective::reduce, 0, 0, 0));  // the notice for the others
  EXPECT_EQ(session->take_finished(), nullptr);
  EXPECT_EQ(session->counters().drops.total(), 0u);
  receive_elements(result(Collective::reduce, 0, 0, 4), {10, 11, 12, 13});
  EXPECT_EQ(session->take_finished(), &c.op);
  EXPECT_THAT(c.data, ElementsAre(10, 11, 12, 13));
}

// Chunks never straddle two owners: each part is cut for itself.
TEST_F(Collectives, ReduceScatterTakesItsOwnPart) {
  start(start_info(8));
  Call& c = call(Collective::reduce_scatter, 5);
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 6u);
  for (std::uint32_t chunk = 0; chunk < 6; ++chunk) {
    EXPECT_EQ(wire::find_target_rank(sent[chunk].extensions), chunk / 2);
    EXPECT_EQ(sent[chunk].header.element_count, chunk % 2 == 0 ? 4 : 1);
    const auto first = static_cast<std::int32_t>(chunk / 2 * 5 + chunk % 2 * 4);
    EXPECT_EQ(std::memcmp(sent[chunk].payload.data(), &first, sizeof first), 0);
  }
  EXPECT_EQ(wire::find_task_information(sent[0].extensions), (wire::TaskInformation{15, 3, 0}));
  for (std::uint32_t chunk = 0; chunk < 6; ++chunk) {
    if (chunk / 2 != 1) receive(result(Collective::reduce_scatter, 0, chunk, 0));
  }
  receive_elements(result(Collective::reduce_scatter, 0, 2, 4), {50, 51, 52, 53});
  receive_elements(result(Collective::reduce_scatter, 0, 3, 1), {54});
  EXPECT_EQ(session->take_finished(), &c.op);
  EXPECT_THAT(outputs.back(), ElementsAre(50, 51, 52, 53, 54));
  EXPECT_EQ(c.data[5], 5) << "the input was written";
}

// No data: it says how it takes part, so that a switch sees who disagrees.
TEST_F(Collectives, AReceiverOfABroadcastSendsItsAgreementAlone) {
  start(start_info());
  Call& c = call(Collective::broadcast, 6, 0);
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].header.collective, Collective::broadcast);
  EXPECT_EQ(sent[0].header.dtype, DType::int32);
  EXPECT_EQ(sent[0].header.element_count, 0u);
  EXPECT_EQ(sent[0].header.flags & wire::kFlagLast, 0u);
  EXPECT_THAT(sent[0].payload, IsEmpty());
  EXPECT_EQ(wire::find_target_rank(sent[0].extensions), 0u);
  EXPECT_EQ(wire::find_task_information(sent[0].extensions), (wire::TaskInformation{6, 3, 0}));
  wire::Header h = result(Collective::broadcast, 0, 1, 4);
  h.covered = 1;  // the root alone
  receive_elements(h, {7, 8, 9, 10});
  receive_elements(result(Collective::broadcast, 0, 2, 2), {11, 12});
  EXPECT_EQ(session->take_finished(), nullptr) << "not before all have begun";
  agree(Collective::broadcast);
  EXPECT_EQ(session->take_finished(), &c.op);
  EXPECT_THAT(c.data, ElementsAre(7, 8, 9, 10, 11, 12));
  EXPECT_EQ(session->counters().contributions.get(), 1u);
}

TEST_F(Collectives, TheRootOfABroadcastSendsItsData) {
  start(start_info());
  Call& c = call(Collective::broadcast, 4, 1);
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(wire::find_target_rank(sent[0].extensions), 1u);
  EXPECT_EQ(wire::find_target_rank(sent[1].extensions), std::nullopt);
  EXPECT_EQ(sent[1].header.fan_in, 3);
  receive_elements(result(Collective::broadcast, 0, 1, 4), {0, 1, 2, 3});
  EXPECT_EQ(session->take_finished(), nullptr) << "not before all have begun";
  agree(Collective::broadcast);
  EXPECT_EQ(session->take_finished(), &c.op);
}

// A receiver asks like every rank, and is told which is missing.
TEST_F(Collectives, AWaitingReceiverProbesAndNamesTheMissingRoot) {
  start(start_info());
  Call& c = call(Collective::broadcast, 4, 2);
  drain();
  agree(Collective::broadcast);
  const Instant end = now + options.op_timeout;
  while (session->next_wakeup() < end) {
    now = session->next_wakeup();
    for (const Sent& p : of_type(drain(), PacketType::probe)) {
      EXPECT_EQ(p.header.op, 0u);
      EXPECT_EQ(p.header.collective, Collective::broadcast);
      EXPECT_EQ(p.header.covered, 0u);
      receive_missing(answer(p, PacketType::pending), {});
    }
  }
  EXPECT_LE(session->counters().probes.get(), 60u);
  run_to(end);
  ASSERT_TRUE(c.op.failure);
  EXPECT_THAT(c.op.failure->text, HasSubstr("waiting for rank 2"));
}

// Nothing of it is ours to send again, whatever the switch says.
TEST_F(Collectives, UnknownMakesNoReceiverSend) {
  start(start_info());
  call(Collective::broadcast, 4, 2);
  drain();
  agree(Collective::broadcast);
  const auto probes = of_type(run_for(Duration::ms(20)), PacketType::probe);
  ASSERT_THAT(probes, Not(IsEmpty()));
  receive(answer(probes.back(), PacketType::unknown));
  EXPECT_THAT(contributions(), IsEmpty());
  EXPECT_THAT(of_type(run_for(Duration::ms(40)), PacketType::probe), Not(IsEmpty()));
}

// The switch refuses data that would overwrite a result that a rank lacks: receivers tell it in
// time.
TEST_F(Collectives, ReceiversAcknowledgeEveryQuarterOfTheWindow) {
  start(start_info(16));
  call(Collective::broadcast, 4 * 40, 0);
  drain();
  agree(Collective::broadcast);
  drain();
  std::vector<std::uint32_t> acknowledged;
  for (std::uint32_t chunk = 1; chunk <= 16; ++chunk) {
    receive_elements(result(Collective::broadcast, 0, chunk, 4), {1, 2, 3, 4});
    for (const Sent& s : of_type(drain(), PacketType::ack)) acknowledged.push_back(s.header.seq);
  }
  EXPECT_THAT(acknowledged, ElementsAre(5u, 9u, 13u, 17u));
}

// Nothing else says what a receiver holds, and the next result waits for it.
TEST_F(Collectives, AReceiversLostAckIsRepeatedAfterItsNextProbe) {
  start(start_info(1));
  call(Collective::broadcast, 4 * 3, 0);
  drain();
  agree(Collective::broadcast);
  drain();
  receive_elements(result(Collective::broadcast, 0, 1, 4), {1, 2, 3, 4});
  ASSERT_THAT(of_type(drain(), PacketType::ack), SizeIs(1)) << "it is lost";
  const auto later = run_for(Duration::ms(60));
  ASSERT_THAT(of_type(later, PacketType::probe), Not(IsEmpty()));
  const auto again = of_type(later, PacketType::ack);
  ASSERT_THAT(again, Not(IsEmpty()));
  EXPECT_EQ(again[0].header.seq, 2u);
}

// The root may be ahead: what came too early is asked for at once, not after a timeout.
TEST_F(Collectives, ResultsThatCameBeforeTheCallAreProbedAtOnce) {
  start(start_info(8));
  for (std::uint32_t chunk = 1; chunk <= 3; ++chunk)
    receive_elements(result(Collective::broadcast, 0, chunk, 4), {1, 2, 3, 4});
  call(Collective::broadcast, 4 * 5, 0);
  const auto probes = of_type(drain(), PacketType::probe);
  ASSERT_EQ(probes.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(probes[i].header.seq, i + 1);
  EXPECT_THAT(drain(), IsEmpty());
}

TEST_F(Collectives, AllGatherSendsOnePartAndTakesAll) {
  start(start_info(8));
  Call& c = call(Collective::all_gather, 5);
  const auto sent = contributions();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].header.chunk, 0u);
  EXPECT_EQ(sent[0].header.element_count, 0u);
  EXPECT_EQ(sent[1].header.chunk, 3u);
  EXPECT_EQ(sent[2].header.chunk, 4u);
  EXPECT_EQ(sent[2].header.seq, 4u);
  EXPECT_EQ(sent[2].header.element_count, 1);
  EXPECT_EQ(std::memcmp(sent[1].payload.data(), c.data.data(), 16), 0);
  agree(Collective::all_gather);
  for (std::uint32_t chunk = 0; chunk < 6; ++chunk) {
    const auto v = static_cast<std::int32_t>(chunk * 10);
    const bool full = chunk % 2 == 0;
    receive_elements(
        result(Collective::all_gather, 0, chunk + 1, full ? 4 : 1),
        full ? std::vector<std::int32_t>{v, v + 1, v + 2, v + 3} : std::vector<std::int32_t>{v});
  }
  EXPECT_EQ(session->take_finished(), &c.op);
  EXPECT_THAT(outputs.back(), ElementsAre(0, 1, 2, 3, 10, 20, 21, 22, 23, 30, 40, 41, 42, 43, 50));
}

// Only the switch can have had no room: no need to wait as for a slow rank.
TEST_F(Collectives, ALoneSenderAsksSooner) {
  start(start_info());
  submit(4);
  Sent sent = drain()[0];
  now = now + Duration::us(100);
  receive_result(sent);
  session->take_finished();
  call(Collective::broadcast, 4, 1);
  sent = drain().at(0);
  receive_result(sent);
  const auto probes = of_type(run_for(Duration::ms(1)), PacketType::probe);
  ASSERT_EQ(probes.size(), 1u);
  EXPECT_EQ(probes[0].header.covered, 1u);
}

TEST_F(Collectives, EmptyOpsOfEveryKindHaveOneChunk) {
  start(start_info(16));
  std::uint32_t op = 0;
  for (const Collective kind : {Collective::reduce, Collective::reduce_scatter,
                                Collective::broadcast, Collective::all_gather}) {
    Call& c = call(kind, 0, 1);
    drain();
    wire::Header h = result(kind, op, 0, 0);
    h.seq = op++;
    receive(h);
    EXPECT_EQ(session->take_finished(), &c.op) << wire::name_of(kind);
    EXPECT_FALSE(c.op.failure);
  }
  EXPECT_TRUE(session->idle());
}

// Rule 12: a flagged sum is never delivered; the job goes on.
TEST_F(Collectives, OverflowFailsTheOpAndNamesTheChunk) {
  start(start_info(8));
  Call& c = submit(8);
  Call& next = submit(4);
  const auto sent = drain();
  wire::Header h = result_of(sent[1]);
  h.flags |= wire::kFlagOverflow;
  receive_elements(h, {99, 99, 99, 99});
  receive_result(sent[0]);
  ASSERT_EQ(session->take_finished(), &c.op);
  ASSERT_TRUE(c.op.failure);
  EXPECT_EQ(c.op.failure->reason, wire::Reason::overflow);
  EXPECT_EQ(c.op.failure->text, "job 1 op 0 chunk 1: the sum of int32 left the range of the type");
  EXPECT_EQ(c.data[4], 4);
  EXPECT_EQ(session->state(), SessionState::running);
  receive_result(sent[2]);
  EXPECT_EQ(session->take_finished(), &next.op);
  EXPECT_FALSE(next.op.failure);
}

TEST_F(Collectives, OverflowOfAReduceReachesEveryRank) {
  start(start_info(8));
  Call& mine = call(Collective::reduce, 4, 1);
  drain();
  wire::Header h = result(Collective::reduce, 0, 0, 0);
  h.flags |= wire::kFlagOverflow;
  receive(h);
  ASSERT_EQ(session->take_finished(), &mine.op);
  EXPECT_EQ(mine.op.failure->reason, wire::Reason::overflow);
}

// Rule 17: small types leave room for their accumulators, unless the job's partials are narrow.
TEST_F(Collectives, SmallTypesTakeChunksOfWhatTheyAreSummedIn) {
  const auto chunks = [this](std::uint8_t partials, DType dtype, ReduceOp op, Collective kind) {
    create();
    wire::StartInfo info = start_info(16, 16);
    info.partials = partials;
    start(info);
    static std::array<std::byte, 64> data;
    Op o;
    o.data = o.output = data.data();
    o.count = 16;
    o.dtype = dtype;
    o.reduce_op = op;
    o.collective = kind;
    session->submit(o, now);
    const std::uint32_t n = o.chunks;
    session->fail_locally("end");
    return n;
  };
  EXPECT_EQ(chunks(0, DType::int8, ReduceOp::sum, Collective::allreduce), 4u);
  EXPECT_EQ(chunks(1, DType::int8, ReduceOp::sum, Collective::allreduce), 1u);
  EXPECT_EQ(chunks(0, DType::int8, ReduceOp::max, Collective::allreduce), 1u);
  EXPECT_EQ(chunks(0, DType::float16, ReduceOp::mean, Collective::reduce), 4u);
  EXPECT_EQ(chunks(0, DType::float16, ReduceOp::sum, Collective::broadcast), 1u + 2u);
  EXPECT_EQ(chunks(0, DType::float64, ReduceOp::sum, Collective::reduce_scatter), 24u);
}

// The second op of a block-scaled sum is sent when the first has brought the exponents.
TEST_F(Collectives, AnOpThatNeedsAnEarlierOneWaitsForIt) {
  start(start_info(8));
  std::vector<float> values = {1, 2, 3, 4, 100, 200};
  BlockScaled scaled(values, 3, 4);
  ASSERT_EQ(scaled.exponents().size(), 2u);
  Op first;
  first.data = reinterpret_cast<std::byte*>(scaled.exponents().data());
  first.count = 2;
  first.dtype = DType::int16;
  first.reduce_op = ReduceOp::max;
  Op second;
  second.count = values.size();
  second.dtype = DType::int32;
  second.scaled = &scaled;
  second.after = &first;
  session->submit(first, now);
  session->submit(second, now);
  Call& third = submit(4);
  auto sent = contributions();
  ASSERT_EQ(sent.size(), 1u);
  wire::Header h = result_of(sent[0]);
  const std::array<std::int16_t, 2> common = {-20, -15};
  receive(h, nullptr, std::as_bytes(std::span(common)));
  EXPECT_EQ(session->take_finished(), &first);

  sent = contributions();
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].header.encoding, wire::Encoding::block_scaled);
  EXPECT_EQ(sent[0].header.scale_exponent, -20);
  EXPECT_EQ(sent[1].header.scale_exponent, -15);
  std::int32_t mantissa = 0;
  std::memcpy(&mantissa, sent[1].payload.data(), 4);
  EXPECT_EQ(mantissa, 100 << 15);

  h = result_of(sent[0]);
  h.scale_exponent = -19;  // another rank's mistake
  receive(h, nullptr, sent[0].payload);
  EXPECT_EQ(session->counters().drops.get(DropReason::op_mismatch), 1u);
  receive(result_of(sent[0]), nullptr, sent[0].payload);
  receive(result_of(sent[1]), nullptr, sent[1].payload);
  EXPECT_EQ(session->take_finished(), &second);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 100, 200));
  receive_result(sent[2]);
  EXPECT_EQ(session->take_finished(), &third.op);
}

// O2 is about sums, too.
TEST_F(Collectives, DataThatIsPassedOnIsNotForTheCompletionHost) {
  options.at_host = true;
  create();
  start(start_info());
  call(Collective::broadcast, 4, 1);
  EXPECT_EQ(drain().at(1).header.flags & wire::kFlagAtPs, 0u);
  call(Collective::reduce, 4);
  EXPECT_NE(drain().at(0).header.flags & wire::kFlagAtPs, 0u);
}

// Rule 14 is about sums.
TEST_F(Collectives, DataThatIsPassedOnIsNotFlaggedAsExcluded) {
  start(start_info());
  wire::Header h = from_switch(wire::PacketType::lease);
  h.flags = wire::kFlagExcluded;
  receive(h);
  call(Collective::broadcast, 4, 1);
  EXPECT_EQ(drain().at(1).header.flags & wire::kFlagBypass, 0u);
  call(Collective::allreduce, 4);
  EXPECT_NE(drain().at(0).header.flags & wire::kFlagBypass, 0u);
}

}  // namespace
}  // namespace tributary::worker
