// C4: puts and gets over a tree, and what loss, duplicates, reordering and crashes do to them.
#include "worker/names/name_client.h"

#include <gtest/gtest.h>

#include "core/digest.h"
#include "tests/worker/names/names_world.h"

namespace tributary::worker {
namespace {

std::string value_of(std::size_t bytes, std::uint64_t seed = 1) {
  Prng random(seed);
  std::string value(bytes, ' ');
  for (char& c : value) c = static_cast<char>(random.next());
  return value;
}

void expect_value(const NameCall& call, const std::string& value) {
  ASSERT_FALSE(call.failure) << call.failure->text;
  EXPECT_EQ(NamesWorld::text_of(call), value);
}

void expect_failure(const NameCall& call, wire::Reason reason, const std::string& text) {
  ASSERT_TRUE(call.failure);
  EXPECT_EQ(call.failure->reason, reason) << call.failure->text;
  EXPECT_NE(call.failure->text.find(text), std::string::npos) << call.failure->text;
}

TEST(NamesWorld, AValueOfAnyLengthGoesThroughTheTree) {
  for (const std::size_t bytes : {0, 1, 879, 880, 881, 20'000}) {
    NamesWorld world(1, {});
    const std::string value = value_of(bytes);
    const auto put = world.put(0, "grad/v=1", value);
    world.run();
    ASSERT_FALSE(put->failure) << put->failure->text;
    const auto got = world.get(3, "grad/v=1");
    world.run();
    expect_value(*got, value);
  }
}

// One request and one answer on the link to the root; later readers do not reach it.
TEST(NamesWorld, OneRequestGoesUp) {
  NamesWorld world(1, {});
  world.put(0, "grad/v=1", "value");
  world.run();
  const auto a = world.get(2, "grad/v=1");
  const auto b = world.get(3, "grad/v=1");
  world.run();
  const auto c = world.read("grad/v=1");
  world.run();
  for (const auto& got : {a, b, c}) expect_value(*got, "value");
  EXPECT_EQ(world.sent(2, kRoot), 1u);
  EXPECT_EQ(world.sent(kRoot, 2), 1u);
}

TEST(NamesWorld, AHitTakesOneRoundTrip) {
  NamesWorld world(1, {});
  world.put(0, "grad/v=1", "value");
  world.run();
  const Instant before = world.now();
  const auto got = world.get(1, "grad/v=1");
  world.run();
  expect_value(*got, "value");
  EXPECT_EQ(world.now() - before, Duration::us(20));
}

TEST(NamesWorld, ADeadProducersValueIsStillThere) {
  NamesWorld world(1, {});
  const std::string value = value_of(5000);
  world.put(0, "grad/v=1", value);
  world.run();
  world.kill(NamesWorld::node_of_rank(0));
  const auto got = world.get(3, "grad/v=1");
  world.run();
  expect_value(*got, value);
}

TEST(NamesWorld, ALeafsDeathLeavesTheValueAtTheRoot) {
  NamesWorld world(1, {});
  world.put(0, "grad/v=1", "value");
  world.run();
  world.kill(1);
  const auto got = world.get(2, "grad/v=1");
  const auto lost = world.get(1, "grad/v=1");  // behind the dead switch
  world.run();
  expect_value(*got, "value");
  expect_failure(*lost, wire::Reason::none, "get of /job/7/run=1/grad/v=1: no answer within 10 s");
}

TEST(NamesWorld, WhatCachesHaveLostComesFromTheProducer) {
  NamesWorld world(1, {}, 4);
  const std::string value = value_of(20'000);
  world.put(0, "grad/v=1", value);
  world.run();
  const auto got = world.get(3, "grad/v=1");
  world.run();
  expect_value(*got, value);
  EXPECT_GT(world.sent(1, NamesWorld::node_of_rank(0)), 0u);
}

// Not even without a network.
TEST(NamesWorld, WhatAnEndpointHasPutItHas) {
  NamesWorld world(1, {});
  const std::string value = value_of(2000);
  world.put(0, "grad/v=1", value);
  world.run();
  world.kill(1);
  const auto whole = world.get(0, "grad/v=1");
  const auto part = world.get(0, "grad/v=1/seg=2");
  world.run();
  expect_value(*whole, value);
  expect_value(*part, value.substr(2 * 880));
  const auto other = world.put(0, "grad/v=1", "other");
  world.run();
  expect_failure(*other, wire::Reason::name_taken, "other bytes have this name");
}

TEST(NamesWorld, WithoutProducerAndCacheTheCauseIsNamed) {
  NamesWorld world(1, {}, 4);
  world.put(0, "grad/v=1", value_of(20'000));
  world.run();
  world.kill(NamesWorld::node_of_rank(0));
  const auto got = world.get(3, "grad/v=1");
  const auto unknown = world.get(3, "grad/v=2");
  world.run();
  expect_failure(*got, wire::Reason::none, "no answer within 10 s");
  expect_failure(*unknown, wire::Reason::name_unknown, "no value has this name");
}

TEST(NamesWorld, ANameHasOneValueInTheWholeTree) {
  NamesWorld world(1, {});
  world.put(0, "grad/v=1", "value");
  world.run();
  const auto same = world.put(3, "grad/v=1", "value");
  const auto other = world.put(2, "grad/v=1", "other");
  world.run();
  EXPECT_FALSE(same->failure);
  expect_failure(*other, wire::Reason::name_taken, "other bytes have this name");
  const auto got = world.get(2, "grad/v=1");
  world.run();
  expect_value(*got, "value");
}

TEST(NamesWorld, ARanksNameIsItsOwn) {
  NamesWorld world(1, {});
  const auto other = world.put(1, "grad/v=1/worker=0", "x");
  const auto own = world.put(0, "grad/v=1/worker=0", "y");
  world.run();
  expect_failure(*other, wire::Reason::not_allowed, "under worker=R by rank R alone");
  EXPECT_FALSE(own->failure);
}

TEST(NamesWorld, ASegmentCanBeAskedForAlone) {
  NamesWorld world(1, {});
  const std::string value = value_of(2000);
  world.put(0, "grad/v=1", value);
  world.run();
  const auto second = world.get(3, "grad/v=1/seg=1");
  const auto beyond = world.get(3, "grad/v=1/seg=3");
  world.run();
  expect_value(*second, value.substr(880, 880));
  expect_failure(*beyond, wire::Reason::name_unknown, "no value has this name");
}

// Two values for one name at the same time: one is kept, the other is refused, everywhere.
TEST(NamesWorld, ARaceHasOneWinner) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    NamesWorld world(seed, {50, 50, Duration::us(10), Duration::us(200)});
    const auto a = world.put(0, "grad/v=1", "a");
    const auto b = world.put(2, "grad/v=1", "b");
    world.run();
    ASSERT_NE(a->failure.has_value(), b->failure.has_value()) << "seed " << seed;
    for (int rank = 0; rank < 4; ++rank) {
      const auto got = world.get(rank, "grad/v=1");
      world.run();
      expect_value(*got, a->failure ? "b" : "a");
    }
  }
}

// Of a value of many segments, no reader ever gets some of one and some of the other.
TEST(NamesWorld, ARaceOfLongValuesHasOneWinner) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NamesWorld world(seed, {50, 50, Duration::us(10), Duration::us(200)});
    const std::string one = value_of(10'000, 1);
    const std::string other = value_of(10'000, 2);
    const auto a = world.put(0, "grad/v=1", one);
    const auto b = world.put(2, "grad/v=1", other);
    world.run();
    ASSERT_NE(a->failure.has_value(), b->failure.has_value());
    for (int rank = 0; rank < 4; ++rank) {
      const auto got = world.get(rank, "grad/v=1");
      world.run();
      expect_value(*got, a->failure ? other : one);
    }
  }
}

// Their first segments are equal, and so is their length: only the digest of the whole differs.
TEST(NamesWorld, ARaceOfValuesThatBeginAlikeHasOneWinner) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NamesWorld world(seed, {50, 50, Duration::us(10), Duration::us(200)});
    const std::string begin = value_of(5'000, 3);
    const std::string one = begin + value_of(5'000, 1);
    const std::string other = begin + value_of(5'000, 2);
    const auto a = world.put(0, "grad/v=1", one);
    const auto b = world.put(2, "grad/v=1", other);
    world.run();
    ASSERT_NE(a->failure.has_value(), b->failure.has_value());
    for (int rank = 0; rank < 4; ++rank) {
      const auto got = world.get(rank, "grad/v=1");
      world.run();
      expect_value(*got, a->failure ? other : one);
    }
  }
}

// 5 % loss, 5 % duplicates, reordering: every value comes as it was put.
TEST(NamesWorld, LossDuplicatesAndReordering) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NamesWorld world(seed, {50, 50, Duration::us(10), Duration::us(300)}, 24);
    std::vector<std::shared_ptr<NameCall>> puts;
    for (int rank = 0; rank < 4; ++rank)
      puts.push_back(world.put(rank, "grad/v=1/worker=" + std::to_string(rank),
                               value_of(10'000, seed * 10 + static_cast<std::uint64_t>(rank))));
    world.run();
    for (const auto& put : puts) ASSERT_FALSE(put->failure) << put->failure->text;
    std::vector<std::pair<std::shared_ptr<NameCall>, std::string>> gets;
    for (int reader = 0; reader < 4; ++reader)
      for (int rank = 0; rank < 4; ++rank)
        gets.emplace_back(world.get(reader, "grad/v=1/worker=" + std::to_string(rank)),
                          value_of(10'000, seed * 10 + static_cast<std::uint64_t>(rank)));
    world.run();
    for (const auto& [got, value] : gets) expect_value(*got, value);
  }
}

TEST(NamesWorld, TheSameSeedIsTheSameRun) {
  const auto end_of = [](std::uint64_t seed) {
    NamesWorld world(seed, {50, 50, Duration::us(10), Duration::us(300)});
    world.put(0, "grad/v=1", value_of(10'000));
    world.run();
    world.get(3, "grad/v=1");
    world.run();
    return world.now();
  };
  EXPECT_EQ(end_of(3), end_of(3));
  EXPECT_NE(end_of(3), end_of(4));
}

std::uint64_t digest_of(const std::string& text) {
  return xxh64(std::as_bytes(std::span(text.data(), text.size())));
}

// A client that has asked for "/job/7/run=1/grad/v=1".
class Get : public testing::Test {
 protected:
  Get() {
    client_.identify({.job = kWorldJob});
    call_->name = "/job/7/run=1/grad/v=1";
    client_.start(call_, {});
    poll();
  }
  void poll() { client_.poll({}, batch_); }
  // What comes for it.
  void answer(std::uint32_t segment, const std::string& payload, const wire::ValueInfo& info) {
    std::array<std::byte, 128> room;
    wire::ExtensionWriter extensions(room);
    wire::add_name(extensions, call_->name + "/seg=" + std::to_string(segment));
    wire::add_value_info(extensions, info);
    wire::Packet packet;
    packet.header.type = wire::PacketType::data;
    packet.header.job = kWorldJob;
    packet.extensions = extensions.bytes();
    packet.payload = std::as_bytes(std::span(payload.data(), payload.size()));
    client_.on_packet(packet, {});
    poll();
  }
  // A segment of the six bytes of `whole`, which has two.
  void answer_part(std::uint32_t segment, const std::string& payload, const std::string& whole) {
    answer(segment, payload, {digest_of(payload), 6, 2, whole.empty() ? 0 : digest_of(whole), 0});
  }
  [[nodiscard]] bool ended() { return client_.take_finished() == call_; }

  NameClient client_;
  NameBatch batch_;
  std::shared_ptr<NameCall> call_ = std::make_shared<NameCall>();
};

TEST_F(Get, DataWithAnotherDigestIsNoAnswer) {
  const std::uint64_t right = digest_of("value");
  answer(0, "value", {right + 1, 5, 1, right, 0});
  EXPECT_FALSE(ended());
  answer(0, "value", {right, 5, 1, right, 0});
  EXPECT_TRUE(ended());
  expect_value(*call_, "value");
}

// C4: each segment has its own digest, and the whole is another value than was put.
TEST_F(Get, SegmentsThatAreNotTheValueTogetherAreAnError) {
  answer_part(0, "bbb", "aaabbb");
  answer_part(1, "aaa", "aaabbb");
  EXPECT_TRUE(ended());
  expect_failure(
      *call_, wire::Reason::none,
      "get of /job/7/run=1/grad/v=1: what came has another digest than the value that was "
      "put");
}

TEST_F(Get, ASegmentOfAnotherValueIsAnError) {
  answer_part(0, "aaa", "aaabbb");
  answer_part(1, "ccc", "aaaccc");
  EXPECT_TRUE(ended());
  expect_failure(*call_, wire::Reason::none, "segment 1 is of another value than the ones before");
}

TEST_F(Get, AValueWhoseDigestIsNotKnownIsTaken) {
  answer_part(0, "aaa", "");
  answer_part(1, "bbb", "");
  EXPECT_TRUE(ended());
  expect_value(*call_, "aaabbb");
}

// The answer to a put of another value that begins alike, and was given up.
TEST(NameClient, StoredIsOfThisPutAlone) {
  NameClient client;
  client.identify({.job = kWorldJob, .segment_bytes = 3});
  const auto call = std::make_shared<NameCall>();
  call->kind = NameCall::Kind::put;
  call->name = "/job/7/run=1/grad/v=1";
  for (const char c : std::string("aaabbb")) call->value.push_back(static_cast<std::byte>(c));
  client.start(call, {});
  NameBatch batch;
  client.poll({}, batch);
  const auto stored = [&](std::uint32_t segment, const std::string& payload,
                          const std::string& whole) {
    std::array<std::byte, 128> room;
    wire::ExtensionWriter extensions(room);
    wire::add_name(extensions, call->name + "/seg=" + std::to_string(segment));
    wire::add_value_info(extensions, {digest_of(payload), 6, 2, digest_of(whole), 0});
    wire::Packet packet;
    packet.header.type = wire::PacketType::stored;
    packet.header.job = kWorldJob;
    packet.extensions = extensions.bytes();
    client.on_packet(packet, {});
    client.poll({}, batch);
  };
  stored(0, "aaa", "aaabbb");
  stored(1, "bbb", "cccbbb");
  EXPECT_EQ(client.take_finished(), nullptr);
  stored(1, "bbb", "aaabbb");
  EXPECT_EQ(client.take_finished(), call);
  EXPECT_FALSE(call->failure);
}

}  // namespace
}  // namespace tributary::worker
