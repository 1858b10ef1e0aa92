// C4: what one switch does with puts and gets.
#include "aggregator/names/name_engine.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/digest.h"
#include "core/net/udp_peer.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;
using wire::Reason;
using Kind = NameSender::Kind;

constexpr std::uint32_t kJob = 7;
const std::string kName = "/job/7/run=1/grad/v=3/seg=0";

config::SwitchConfig configuration(bool has_parent) {
  config::SwitchConfig config;
  config.names.megabytes = 1;
  config.names.segment_bytes = 256 << 10;  // four slots
  config.names.entries = 16;
  config.names.pending = 4;
  config.names.ttl = Duration::seconds(60);
  config::JobConfig job;
  job.id = kJob;
  job.workers = 4;
  job.names.enabled = true;
  job.names.readers = {{false, {10, 1}, 16}};
  if (has_parent) job.parent.emplace();
  config.jobs = {job};
  return config;
}

struct Sent {
  Outgoing::To to;
  Endpoint peer;
  wire::Header header;
  std::string name;
  std::string payload;
  wire::ValueInfo info;  // zeros: none is said
};

std::uint64_t digest_of(const std::string& value) {
  return xxh64(std::as_bytes(std::span(value.data(), value.size())));
}

class Names : public testing::TestWithParam<bool> {
 protected:
  Names() : children_(config_.jobs[0]) {}

  static Endpoint host(std::uint32_t n) { return wire::UdpPeer(1, 4000, 0x0A000000u + n); }
  NameSender worker(std::uint16_t rank) { return {Kind::worker, rank, &children_}; }

  // Returns what was sent.
  std::vector<Sent> deliver(PacketType type, const NameSender& sender, const Endpoint& from,
                            const std::string& name, const std::string& value = "",
                            Reason reason = Reason::none, PacketType refused = PacketType::get) {
    std::array<std::byte, 512> room;
    wire::ExtensionWriter extensions(room);
    if (!name.empty()) wire::add_name(extensions, name);
    const auto payload = std::as_bytes(std::span(value.data(), value.size()));
    wire::Packet packet;
    packet.header.type = type;
    packet.header.job = job_;
    packet.header.reason = reason;
    if (type == PacketType::refuse) packet.header.slot = static_cast<std::uint32_t>(refused);
    const bool carries = type == PacketType::put || type == PacketType::data;
    if (carries || type == PacketType::stored)
      wire::add_value_info(extensions,
                           {xxh64(payload) + lie_, value.size(), segments_, whole_, lifetime_ms_});
    if (carries) {
      packet.header.dtype = wire::DType::uint8;
      packet.payload = payload;
    }
    packet.extensions = extensions.bytes();
    outbox_.clear();
    dropped_ = engine_.on_packet(packet, from, sender, now_, outbox_);
    std::vector<Sent> sent;
    for (const Outgoing& o : outbox_.items()) {
      const auto info = wire::find_value_info(o.extension_span());
      sent.push_back({o.to,
                      o.peer,
                      o.header,
                      std::string(wire::find_name(o.extension_span()).value_or("")),
                      {reinterpret_cast<const char*>(o.payload.data()), o.payload.size()},
                      info.value_or(wire::ValueInfo{})});
    }
    return sent;
  }
  std::vector<Sent> put(std::uint16_t rank, const std::string& value,
                        const std::string& name = kName) {
    return deliver(PacketType::put, worker(rank), host(rank), name, value);
  }
  std::vector<Sent> get(std::uint16_t rank, const std::string& name = kName) {
    return deliver(PacketType::get, worker(rank), host(rank), name);
  }
  std::vector<Sent> from_above(PacketType type, const std::string& value = "",
                               Reason reason = Reason::none, PacketType refused = PacketType::get) {
    return deliver(type, {.kind = Kind::parent}, host(99), kName, value, reason, refused);
  }
  std::vector<Sent> learn(const std::string& value, const std::string& name = kName) {
    get(0, name);
    return deliver(PacketType::data, {.kind = Kind::parent}, host(99), name, value);
  }
  const NameCounters& counters() { return engine_.jobs().all()[0].counters; }
  static void expect(const std::vector<Sent>& sent, PacketType type, const Endpoint& to,
                     Reason reason = Reason::none) {
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].header.type, type);
    EXPECT_EQ(sent[0].to, Outgoing::To::peer);
    EXPECT_EQ(sent[0].peer, to);
    EXPECT_EQ(sent[0].header.reason, reason) << wire::name_of(sent[0].header.reason);
  }
  static void expect_up(const std::vector<Sent>& sent, PacketType type) {
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(sent[0].header.type, type);
    EXPECT_EQ(sent[0].to, Outgoing::To::parent);
  }

  config::SwitchConfig config_ = configuration(GetParam());
  ChildMap children_;
  NameEngine engine_{config_, 1};
  Outbox outbox_{engine_.outbox_capacity()};
  Instant now_;
  std::uint32_t job_ = kJob;
  std::uint64_t lie_ = 0;
  // What packets say of the value.
  std::uint32_t segments_ = 1;
  std::uint64_t whole_ = 0;
  std::uint32_t lifetime_ms_ = 0;
  DropReason dropped_ = DropReason::none;
};
class Root : public Names {};
class Leaf : public Names {};
INSTANTIATE_TEST_SUITE_P(C4, Root, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(C4, Leaf, testing::Values(true));

TEST_P(Root, AnswersFromItsCache) {
  expect(put(0, "value"), PacketType::stored, host(0));
  const auto sent = get(1);
  expect(sent, PacketType::data, host(1));
  EXPECT_EQ(sent[0].payload, "value");
  EXPECT_EQ(sent[0].name, kName);
  EXPECT_EQ(counters().hits.get(), 1u);
}

TEST_P(Root, ANameHasOneValue) {
  put(0, "value");
  expect(put(0, "value"), PacketType::stored, host(0));
  expect(put(1, "value"), PacketType::stored, host(1));
  expect(put(0, "other"), PacketType::refuse, host(0), Reason::name_taken);
  EXPECT_EQ(get(1)[0].payload, "value");
}

TEST_P(Root, AlsoWhenItsBytesAreGone) {
  put(0, "value");
  for (int i = 1; i < 9; ++i) put(0, "x", "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0");
  expect(put(1, "other"), PacketType::refuse, host(1), Reason::name_taken);
  expect(get(1), PacketType::get, host(0));  // its producer has them, and nothing else
  expect(deliver(PacketType::data, worker(0), host(0), kName, "other"), PacketType::refuse, host(1),
         Reason::name_taken);
  EXPECT_EQ(dropped_, DropReason::bad_name);
  expect(get(1), PacketType::get, host(0));
  const auto sent = deliver(PacketType::data, worker(0), host(0), kName, "value");
  expect(sent, PacketType::data, host(1));
  expect(get(2), PacketType::data, host(2));
}

TEST_P(Root, NamesExpire) {
  put(0, "value");
  now_ = now_ + Duration::seconds(59);
  engine_.expire(now_);
  expect(get(1), PacketType::data, host(1));
  now_ = now_ + Duration::seconds(1);
  engine_.expire(now_);
  expect(get(1), PacketType::refuse, host(1), Reason::name_unknown);
  expect(put(0, "other"), PacketType::stored, host(0));
  EXPECT_EQ(counters().expired.get(), 1u);
}

TEST_P(Root, BadInputIsRefusedWithItsReason) {
  const auto refused = [&](const std::vector<Sent>& sent, Reason why) {
    expect(sent, PacketType::refuse, host(0), why);
    EXPECT_EQ(dropped_, DropReason::name_refused);
  };
  refused(get(0, "/job/7/run=1/../8/v=1/seg=0"), Reason::bad_name);
  refused(get(0, "/job/7/run=1/gr\xFF/v=1/seg=0"), Reason::bad_name);
  refused(get(0, "/job/7/grad/v=1/seg=0"), Reason::bad_name);
  refused(get(0, std::string(200, 'x')), Reason::bad_name);
  refused(get(0, ""), Reason::bad_name);
  refused(put(0, "x", "/job/8/run=1/grad/v=1/seg=0"), Reason::foreign_name);
  refused(put(0, "x", "/job/7/run=1/grad/v=1/seg=1"), Reason::bad_name);  // of one segment
  refused(put(0, std::string(2000, 'x')), Reason::value_too_large);
  refused(get(0), Reason::name_unknown);
  lie_ = 1;
  refused(put(0, "x"), Reason::bad_name);
  lie_ = 0;
  whole_ = digest_of("y");  // its only segment has another digest
  refused(put(0, "x"), Reason::bad_name);
  job_ = 8;
  refused(get(0), Reason::names_off);
}

// C4: segments of one name are of one value, whichever comes first.
TEST_P(Root, ASegmentOfAnotherValueIsRefused) {
  const auto name_of = [](int segment) {
    return "/job/7/run=1/grad/v=3/seg=" + std::to_string(segment);
  };
  segments_ = 3;
  whole_ = 7;
  expect(put(0, "b", name_of(1)), PacketType::stored, host(0));
  whole_ = 8;
  for (const int segment : {0, 1, 2})
    expect(put(1, "b", name_of(segment)), PacketType::refuse, host(1), Reason::name_taken);
  expect(put(1, "b", name_of(1) + "/worker=1"), PacketType::stored, host(1));  // another name
  whole_ = 7;
  segments_ = 2;
  expect(put(1, "b", name_of(0)), PacketType::refuse, host(1), Reason::name_taken);
  segments_ = 3;
  expect(put(1, "b", name_of(0)), PacketType::stored, host(1));
  EXPECT_EQ(get(2, name_of(0))[0].info.whole, 7u);
  whole_ = 8;
  now_ = now_ + Duration::seconds(60);
  expect(put(1, "b", name_of(0)), PacketType::stored, host(1));  // all of the first has expired
}

// C4: the age of a name travels with it.
TEST_P(Root, SaysHowLongANameLives) {
  EXPECT_EQ(put(0, "value")[0].info.lifetime_ms, 60'000u);
  now_ = now_ + Duration::ms(20'001);
  EXPECT_EQ(get(1)[0].info.lifetime_ms, 39'999u);
  EXPECT_EQ(put(0, "value")[0].info.lifetime_ms, 39'999u);  // no younger for another put
  now_ = now_ + Duration::ms(39'999) - Duration::ns(1);
  EXPECT_EQ(get(1)[0].info.lifetime_ms, 1u);
  now_ = now_ + Duration::ns(1);
  expect(get(1), PacketType::refuse, host(1), Reason::name_unknown);
}

TEST_P(Root, CountsWhatGivesWayByItsJob) {
  for (int i = 0; i < 6; ++i) put(0, "x", "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0");
  EXPECT_EQ(counters().evicted.get(), 2u);  // of four slots
}

TEST_P(Root, OnlyMembersPut) {
  expect(deliver(PacketType::put, {}, host(5), kName, "x"), PacketType::refuse, host(5),
         Reason::not_allowed);
  const std::string own = "/job/7/run=1/grad/v=3/seg=0/worker=2";
  expect(put(1, "x", own), PacketType::refuse, host(1), Reason::not_allowed);
  expect(put(2, "x", own), PacketType::stored, host(2));
}

TEST_P(Root, ReadersAreThoseThatTheJobLists) {
  put(0, "value");
  const Endpoint listed = wire::UdpPeer(1, 4000, 0x0A01FFFFu);
  const Endpoint other = wire::UdpPeer(1, 4000, 0x0A020000u);
  expect(deliver(PacketType::get, {}, listed, kName), PacketType::data, listed);
  expect(deliver(PacketType::get, {}, other, kName), PacketType::refuse, other,
         Reason::not_allowed);
}

TEST_P(Root, AJobHasItsShareOfTheTable) {
  for (int i = 0; i < 16; ++i) put(0, "x", "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0");
  expect(put(0, "x"), PacketType::refuse, host(0), Reason::names_full);
  expect(put(0, "x", "/job/7/run=1/t/v=3/seg=0"), PacketType::stored, host(0));
}

TEST_P(Root, AChangeKeepsTheNamesOfJobsThatStay) {
  put(0, "value");
  NamedJobs same(config_);
  engine_.apply(same);
  expect(get(1), PacketType::data, host(1));
  config_.jobs.clear();
  NamedJobs none(config_);
  engine_.apply(none);
  expect(get(1), PacketType::refuse, host(1), Reason::names_off);
  EXPECT_EQ(engine_.store()->counters().names.get(), 0u);
}

TEST_P(Leaf, APutIsTheRootsToAccept) {
  const auto up = put(0, "value");
  expect_up(up, PacketType::put);
  EXPECT_EQ(up[0].payload, "value");
  expect_up(get(1), PacketType::get);  // not answered before
  const auto stored = from_above(PacketType::stored, "value");
  expect(stored, PacketType::stored, host(0));
  EXPECT_EQ(stored[0].info.digest, digest_of("value"));
  expect(get(2), PacketType::data, host(2));
}

// The root may refuse the first value: until it has answered, the second is asked to wait.
TEST_P(Leaf, AnotherValueWaitsForTheRootsWord) {
  put(0, "value");
  expect(put(1, "other"), PacketType::refuse, host(1), Reason::names_busy);
  from_above(PacketType::stored, "value");
  expect(put(1, "other"), PacketType::refuse, host(1), Reason::name_taken);
}

TEST_P(Leaf, AValueThatTheRootNeverAcceptedGivesWay) {
  put(0, "value");
  now_ = now_ + PendingTable::kLifetime;
  const auto up = put(1, "other");
  expect_up(up, PacketType::put);
  EXPECT_EQ(up[0].payload, "other");
}

// Else this leaf would have one value for good, and the root another.
TEST_P(Leaf, ALateAnswerIsOfItsOwnValue) {
  put(0, "value");
  now_ = now_ + PendingTable::kLifetime;
  expect_up(put(1, "other"), PacketType::put);
  EXPECT_TRUE(from_above(PacketType::stored, "value").empty());
  EXPECT_EQ(dropped_, DropReason::name_unasked);
  expect_up(get(2), PacketType::get);
  expect(from_above(PacketType::refuse, "", Reason::name_taken, PacketType::put),
         PacketType::refuse, host(1), Reason::name_taken);
  expect_up(put(0, "value"), PacketType::put);
}

// C4: a copy expires with the original, however late it came here; so does the leaf's own entry.
TEST_P(Leaf, WhatPassedByExpiresWithTheOriginal) {
  lifetime_ms_ = 5'000;
  EXPECT_EQ(learn("value")[0].info.lifetime_ms, 5'000u);
  now_ = now_ + Duration::ms(4'999);
  engine_.expire(now_);
  const auto last = get(1);
  expect(last, PacketType::data, host(1));
  EXPECT_EQ(last[0].info.lifetime_ms, 1u);
  now_ = now_ + Duration::ms(1);
  NameEngine::JobUse use;
  std::uint32_t place = 0;
  engine_.use_of(kJob, now_, place, 1000, use);
  EXPECT_EQ(use.names, 0u);
  expect_up(get(1), PacketType::get);
  EXPECT_EQ(counters().expired.get(), 1u);
}

TEST_P(Leaf, ACopyIsGoneAfterTheTtlEvenIfNobodyAsks) {
  learn("value");
  now_ = now_ + Duration::seconds(60);
  engine_.expire(now_);
  EXPECT_EQ(engine_.store()->counters().names.get(), 0u);
  EXPECT_EQ(engine_.store()->counters().bytes.get(), 0u);
}

TEST_P(Leaf, APutThatTheRootHadBeforeIsAsOldAsThere) {
  put(0, "value");
  lifetime_ms_ = 2'000;
  EXPECT_EQ(from_above(PacketType::stored, "value")[0].info.lifetime_ms, 2'000u);
  now_ = now_ + Duration::ms(2'000);
  expect_up(put(1, "other"), PacketType::put);
}

TEST_P(Leaf, AnEntryOfItsOwnLivesNoLongerThanTheOriginal) {
  put(0, "value");
  get(1);
  lifetime_ms_ = 2'000;
  EXPECT_EQ(from_above(PacketType::data, "value")[0].info.lifetime_ms, 2'000u);
}

TEST_P(Leaf, AnotherValuesSegmentWaitsForTheRootsWord) {
  segments_ = 2;
  whole_ = 7;
  put(0, "a");
  whole_ = 8;
  const std::string second = "/job/7/run=1/grad/v=3/seg=1";
  expect(put(1, "b", second), PacketType::refuse, host(1), Reason::names_busy);
  now_ = now_ + PendingTable::kLifetime;
  expect_up(put(1, "b", second), PacketType::put);
}

TEST_P(Leaf, DataOfAnotherValueThanItsSiblingsIsNotKept) {
  segments_ = 2;
  whole_ = 7;
  learn("a");
  const std::string second = "/job/7/run=1/grad/v=3/seg=1";
  whole_ = 8;
  const auto passed = learn("b", second);
  expect(passed, PacketType::data, host(0));
  EXPECT_EQ(passed[0].info.whole, 8u);
  expect_up(get(1, second), PacketType::get);
}

// The copy's bytes gave way, and the root has another value by now.
TEST_P(Leaf, DataOfAnotherValueThanItsCopyIsPassedOnAlone) {
  const std::string often = "/job/7/run=1/t/v=9/seg=0";
  learn("x", often);
  get(0, often);
  learn("value");
  for (int i = 0; i < 3; ++i) put(0, "x", "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0");
  expect_up(get(0), PacketType::get);
  const auto passed = from_above(PacketType::data, "other");
  expect(passed, PacketType::data, host(0));
  EXPECT_EQ(passed[0].payload, "other");
  expect_up(get(1), PacketType::get);
}

TEST_P(Leaf, APutOfWhatPassedByLivesNoLongerThanTheOriginal) {
  lifetime_ms_ = 5'000;
  learn("value");
  put(1, "value");
  EXPECT_EQ(get(2)[0].info.lifetime_ms, 5'000u);
}

TEST_P(Leaf, WhatTheRootRefusesIsGone) {
  put(0, "value");
  expect(from_above(PacketType::refuse, "", Reason::name_taken, PacketType::put),
         PacketType::refuse, host(0), Reason::name_taken);
  expect_up(put(1, "the root's"), PacketType::put);
}

TEST_P(Leaf, OneRequestGoesUp) {
  expect_up(get(0), PacketType::get);
  EXPECT_TRUE(get(1).empty());
  const auto sent = from_above(PacketType::data, "value");
  ASSERT_EQ(sent.size(), 2u);
  for (const Sent& s : sent) EXPECT_EQ(s.payload, "value");
  expect(get(2), PacketType::data, host(2));
  EXPECT_EQ(counters().forwarded.get(), 1u);
  EXPECT_EQ(counters().misses.get(), 2u);
}

TEST_P(Leaf, ARefusalGoesToAllWhoAsked) {
  get(0);
  get(1);
  const auto sent = from_above(PacketType::refuse, "", Reason::name_unknown);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].header.reason, Reason::name_unknown);
  expect_up(get(0), PacketType::get);
}

TEST_P(Leaf, WhatTheRootAsksForIsNotAskedOfTheRoot) {
  const NameSender parent{.kind = Kind::parent};
  expect(deliver(PacketType::get, parent, host(99), kName), PacketType::refuse, host(99),
         Reason::name_unknown);
}

TEST_P(Leaf, UnaskedDataIsNotKept) {
  EXPECT_TRUE(from_above(PacketType::data, "value").empty());
  EXPECT_EQ(dropped_, DropReason::name_unasked);
  get(0);
  EXPECT_TRUE(deliver(PacketType::data, worker(1), host(1), kName, "forged").empty());
  EXPECT_EQ(dropped_, DropReason::name_unasked);
  lie_ = 1;
  EXPECT_TRUE(from_above(PacketType::data, "value").empty());
  EXPECT_EQ(dropped_, DropReason::bad_name);
  lie_ = 0;
  expect(from_above(PacketType::data, "value"), PacketType::data, host(0));
}

// Answers and refusals make room; so does a job that goes and comes back within a request's life.
TEST_P(Leaf, TheTableHasRoomAgain) {
  for (int i = 0; i < 6; ++i) {
    expect_up(get(0), PacketType::get);
    from_above(PacketType::refuse, "", Reason::name_unknown);
  }
  get(0, "/job/7/run=1/t/v=1/seg=0");
  config::SwitchConfig without = config_;
  without.jobs.clear();
  NamedJobs none(without);
  engine_.apply(none);
  EXPECT_EQ(engine_.pending(), 0u);
  NamedJobs back(config_);
  engine_.apply(back);
  now_ = now_ + PendingTable::kLifetime;
  engine_.expire(now_);
  for (int i = 0; i < 4; ++i)
    expect_up(get(0, "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0"), PacketType::get);
  EXPECT_EQ(engine_.jobs().all()[0].pending, 4u);
}

TEST_P(Leaf, AFullTableOfRequestsRefuses) {
  for (int i = 0; i < 4; ++i) get(0, "/job/7/run=1/t/v=" + std::to_string(i) + "/seg=0");
  expect(get(0), PacketType::refuse, host(0), Reason::names_busy);
  now_ = now_ + PendingTable::kLifetime;
  engine_.expire(now_);
  EXPECT_EQ(counters().unanswered.get(), 4u);
  expect_up(get(0), PacketType::get);
}

TEST(NamesOff, EveryRequestIsRefused) {
  config::SwitchConfig config = configuration(false);
  config.names.megabytes = 0;
  NameEngine engine(config, 1);
  Outbox out(engine.outbox_capacity());
  wire::Packet packet;
  packet.header.type = PacketType::get;
  packet.header.job = kJob;
  EXPECT_EQ(engine.on_packet(packet, {}, {}, {}, out), DropReason::name_refused);
  ASSERT_EQ(out.items().size(), 1u);
  EXPECT_EQ(out.items()[0].header.reason, Reason::names_off);
  engine.expire(Instant::from_ns(1));
}

}  // namespace
}  // namespace tributary::aggregator
