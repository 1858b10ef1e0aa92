// Which fragments make a datagram, and which are refused, with explicit time.
#include "dataplane/frame/fragment_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "core/prng.h"

namespace tributary::dataplane {
namespace {

constexpr Duration kTimeout = Duration::ms(100);
constexpr std::size_t kMost = 9000;

class Fragments : public testing::Test {
 protected:
  static DatagramKey key(std::uint16_t id) {
    return {.source_ip = 1,
            .destination_ip = 2,
            .id = id,
            .protocol = 17,
            .vlan_tci = std::nullopt,
            .source = {2, 0, 0, 0, 0, 1}};
  }
  FragmentTable::Outcome add(std::uint16_t id, std::size_t offset, std::size_t bytes,
                             bool more = true) {
    return table.add(key(id), offset, bytes, more, now);
  }
  DropReason refusal(std::uint16_t id, std::size_t offset, std::size_t bytes, bool more = true) {
    return add(id, offset, bytes, more).reason;
  }

  FragmentTable table{4, kTimeout, kMost, 7};
  Instant now = Instant::from_ns(1'000'000'000);
};

TEST_F(Fragments, MakeADatagramInAnyOrder) {
  std::array<int, 4> order = {0, 1, 2, 3};
  std::uint16_t id = 0;
  do {
    ++id;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int n = order[i];
      const auto out = add(id, static_cast<std::size_t>(n) * 1480, n == 3 ? 5 : 1480, n != 3);
      ASSERT_EQ(out.reason, DropReason::none);
      EXPECT_EQ(out.opened, i == 0);
      EXPECT_EQ(out.done, i == 3 ? 4445u : 0u);
    }
    EXPECT_EQ(table.open(), 0u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(Fragments, OfDifferentDatagramsDoNotMix) {
  add(1, 0, 800);
  EXPECT_TRUE(add(2, 800, 100, false).opened);
  for (const auto change :
       {+[](DatagramKey& k) { k.source_ip = 9; }, +[](DatagramKey& k) { k.destination_ip = 9; },
        +[](DatagramKey& k) { k.protocol = 1; }, +[](DatagramKey& k) { k.vlan_tci = 0; },
        +[](DatagramKey& k) { k.source[5] = 9; }}) {
    DatagramKey other = key(1);
    change(other);
    EXPECT_TRUE(table.add(other, 800, 100, false, now).opened);
  }
  EXPECT_EQ(table.open(), 4u) << "bounded, whatever comes";
}

TEST_F(Fragments, ThatMakeNoSenseTouchNothing) {
  add(1, 0, 800);
  EXPECT_EQ(refusal(1, 800, 0, false), DropReason::fragment_malformed);
  EXPECT_EQ(refusal(1, 800, 799), DropReason::fragment_malformed);
  EXPECT_EQ(refusal(1, 8192, 816, false), DropReason::fragment_too_large);
  EXPECT_EQ(refusal(1, 65528, 8), DropReason::fragment_too_large);
  EXPECT_EQ(refusal(2, 0, 9008), DropReason::fragment_too_large);
  EXPECT_EQ(table.open(), 1u);
  EXPECT_EQ(add(1, 800, 8200, false).done, kMost);
}

TEST_F(Fragments, TwiceAreCountedAndTheDatagramGoesOn) {
  add(1, 0, 800);
  EXPECT_EQ(refusal(1, 0, 800), DropReason::fragment_duplicate);
  EXPECT_EQ(refusal(1, 80, 80), DropReason::fragment_duplicate) << "within one";
  EXPECT_EQ(add(1, 800, 1, false).done, 801u);
}

// RFC 5722 and RFC 1858: what overlaps is an attack, and nothing of it is believed.
TEST_F(Fragments, ThatContradictEachOtherEndTheirDatagram) {
  struct Case {
    std::size_t offset, bytes;
    bool more;
  };
  const auto ended_by = [&](std::initializer_list<Case> before, Case last) {
    for (const Case& c : before) EXPECT_EQ(refusal(1, c.offset, c.bytes, c.more), DropReason::none);
    const auto out = add(1, last.offset, last.bytes, last.more);
    EXPECT_EQ(out.reason, DropReason::fragment_overlap);
    EXPECT_EQ(table.open(), 0u);
    return out.refused ? out.refused->fragments : 0;
  };
  EXPECT_EQ(ended_by({{0, 800, true}}, {792, 80, true}), 1u);
  EXPECT_EQ(ended_by({{800, 80, true}}, {0, 808, true}), 1u);
  EXPECT_EQ(ended_by({{0, 80, true}, {160, 80, true}}, {0, 240, true}), 2u);
  EXPECT_EQ(ended_by({{80, 80, false}}, {160, 80, true}), 1u) << "beyond the end";
  EXPECT_EQ(ended_by({{80, 80, false}}, {160, 80, false}), 1u) << "two ends";
  EXPECT_EQ(ended_by({{160, 80, true}}, {80, 80, false}), 1u) << "an end before data";
  EXPECT_EQ(ended_by({{80, 77, false}}, {152, 8, true}), 1u) << "in the last word";
}

TEST_F(Fragments, ThatAreAloneTooLongAreGivenUpInTheirOrder) {
  add(1, 0, 800);
  now = now + kTimeout / 2;
  add(2, 0, 800);
  add(2, 800, 800);
  now = now + kTimeout / 2 - Duration::ns(1);
  EXPECT_FALSE(table.expire(now));
  now = now + Duration::ns(1);
  EXPECT_EQ(table.expire(now)->fragments, 1u);
  EXPECT_FALSE(table.expire(now));
  now = now + kTimeout;
  EXPECT_EQ(table.expire(now)->fragments, 2u);
  EXPECT_EQ(table.open(), 0u);
  EXPECT_TRUE(add(1, 800, 1, false).opened) << "what was there is forgotten";
}

// C1: a sender's fragments follow each other closely, so a flood ends only its own.
TEST_F(Fragments, OfAFloodGiveWayToLaterOnes) {
  for (std::uint16_t id = 0; id < 4; ++id) EXPECT_FALSE(add(id, 0, 800).evicted);
  for (std::uint16_t id = 100; id < 1000; ++id) {
    const auto first = add(id, 0, 800);
    ASSERT_TRUE(first.evicted);
    EXPECT_EQ(first.evicted->fragments, 1u);
    EXPECT_EQ(first.evicted->place, first.place);
    EXPECT_EQ(table.open(), 4u);
    if (id % 10 == 0) {
      EXPECT_EQ(add(id, 800, 80, false).done, 880u);
      EXPECT_FALSE(add(static_cast<std::uint16_t>(id + 5000), 0, 800).evicted);
    }
  }
}

TEST_F(Fragments, GivenUpLeaveTheirPlaceToOthers) {
  const auto out = add(1, 0, 800);
  table.give_up(out.place);
  EXPECT_EQ(table.open(), 0u);
  EXPECT_FALSE(table.give_up_oldest());
  for (std::uint16_t id = 0; id < 4; ++id) add(id, 0, 800);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(table.give_up_oldest());
  EXPECT_FALSE(table.give_up_oldest());
}

// Against a model that holds every byte, under fragments of any place and size.
TEST_F(Fragments, AgreeWithAModelOfBytes) {
  constexpr std::uint64_t kSeed = 20240601;
  Prng random(kSeed);
  struct Model {
    std::vector<bool> bytes = std::vector<bool>(kMost);
    std::size_t end = 0, reach = 0, fragments = 0;
  };
  std::map<std::uint16_t, Model> open;
  std::size_t finished = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto id = static_cast<std::uint16_t>(random.next() % 4);
    // Mostly one word of four, and of any length now and then.
    const bool wild = random.next() % 16 == 0;
    const std::size_t offset = random.next() % 4 * 8;
    const bool more = wild ? random.next() % 2 == 0 : offset != 24;
    const std::size_t bytes =
        more ? (wild ? random.next() % 4 + 1 : 1) * 8 : random.next() % 20 + 1;
    Model& m = open[id];
    const std::size_t end = offset + bytes;
    const std::size_t padded = (end + 7) / 8 * 8;
    const auto held =
        static_cast<std::size_t>(std::count(m.bytes.begin() + static_cast<long>(offset),
                                            m.bytes.begin() + static_cast<long>(padded), true));
    const bool bad_end =
        more ? m.end != 0 && end >= m.end : (m.end != 0 && m.end != end) || m.reach > end;
    const auto out = add(id, offset, bytes, more);
    ASSERT_FALSE(out.evicted);
    if (bad_end || (held != 0 && held != padded - offset)) {
      ASSERT_EQ(out.reason, DropReason::fragment_overlap) << kSeed << ' ' << i;
      ASSERT_EQ(out.refused ? out.refused->fragments : 0, m.fragments) << kSeed << ' ' << i;
      open.erase(id);
      continue;
    }
    if (held == padded - offset) {
      ASSERT_EQ(out.reason, DropReason::fragment_duplicate) << kSeed << ' ' << i;
      continue;
    }
    ASSERT_EQ(out.reason, DropReason::none) << kSeed << ' ' << i;
    std::fill(m.bytes.begin() + static_cast<long>(offset),
              m.bytes.begin() + static_cast<long>(padded), true);
    ++m.fragments;
    m.reach = std::max(m.reach, end);
    if (!more) m.end = end;
    const bool whole =
        m.end != 0 && std::all_of(m.bytes.begin(), m.bytes.begin() + static_cast<long>(m.end),
                                  [](bool b) { return b; });
    ASSERT_EQ(out.done, whole ? m.end : 0) << kSeed << ' ' << i;
    if (!whole) continue;
    ++finished;
    open.erase(id);
  }
  EXPECT_GT(finished, 1000u);
}

}  // namespace
}  // namespace tributary::dataplane
