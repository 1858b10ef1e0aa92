#include "aggregator/names/name_store.h"

#include <gtest/gtest.h>

#include <string>

namespace tributary::aggregator {
namespace {

constexpr std::uint32_t kSlotBytes = 64;

class Store : public testing::Test {
 protected:
  std::uint32_t add(const std::string& name) {
    return store_.add(name, store_.hash_of(name), 7, {});
  }
  std::uint32_t find(const std::string& name) { return store_.find(name, store_.hash_of(name)); }
  static std::span<const std::byte> bytes(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  std::string value(std::uint32_t entry) {
    const auto got = store_.bytes_of(entry);
    return {reinterpret_cast<const char*>(got.data()), got.size()};
  }

  NameStore store_{4, 2, kSlotBytes, 1};
};

// C4: names are compared in full, also where their hashes are equal.
TEST_F(Store, FindsByTheWholeName) {
  const std::uint32_t a = store_.add("/a", 5, 7, {});
  const std::uint32_t b = store_.add("/b", 5, 7, {});
  EXPECT_EQ(store_.find("/a", 5), a);
  EXPECT_EQ(store_.find("/b", 5), b);
  EXPECT_EQ(store_.find("/c", 5), NameStore::kNone);
  store_.remove(a);
  EXPECT_EQ(store_.find("/a", 5), NameStore::kNone);
  EXPECT_EQ(store_.find("/b", 5), b);
}

TEST_F(Store, KeepsACopy) {
  const std::uint32_t a = add("/a");
  std::string text = "value";
  store_.keep(a, bytes(text));
  text = "other";
  EXPECT_EQ(value(a), "value");
  EXPECT_EQ(store_.counters().bytes.get(), 5u);
}

// C4: what gives way keeps its entry if it was put, and loses it if it only passed by.
TEST_F(Store, ADeclaredNameOutlivesItsBytes) {
  const std::uint32_t declared = add("/declared");
  store_.declare(declared, {}, {});
  store_.keep(declared, bytes("1"));
  for (int i = 0; i < 9; ++i) {
    const std::string name = "/" + std::to_string(i);
    store_.keep(add(name), bytes("x"));
    EXPECT_TRUE(store_.has_bytes(find(name)));
  }
  ASSERT_EQ(find("/declared"), declared);
  EXPECT_FALSE(store_.has_bytes(declared));
  EXPECT_EQ(find("/0"), NameStore::kNone);
  EXPECT_EQ(store_.counters().segments.get(), 2u);
  EXPECT_EQ(store_.counters().evicted.get(), 8u);
  EXPECT_LE(store_.counters().names.get(), 4u + 2 * 2);
}

TEST_F(Store, AFullTableTakesNoMore) {
  std::uint32_t taken = 0;
  while (add("/n" + std::to_string(taken)) != NameStore::kNone) ++taken;
  EXPECT_EQ(taken, store_.capacity());
  store_.remove(find("/n3"));
  EXPECT_NE(add("/again"), NameStore::kNone);
}

TEST_F(Store, TheOldestComesFirst) {
  const std::uint32_t a = add("/a");
  const std::uint32_t b = add("/b");
  EXPECT_EQ(store_.oldest(), a);
  store_.declare(b, {}, {});
  store_.declare(a, {}, {});  // it begins anew with its put
  EXPECT_EQ(store_.oldest(), b);
  store_.declare(b, {}, Instant::from_ns(5));  // put again: no younger for that
  EXPECT_EQ(store_.oldest(), b);
  store_.remove(b);
  EXPECT_EQ(store_.oldest(), a);
}

// C4: segments of one value find each other, whichever of them is there.
TEST_F(Store, FindsTheValueByAnySegment) {
  const std::string one = "/job/7/run=1/t/v=1/seg=";
  const std::uint32_t a = add(one + "0");
  const std::uint32_t b = add(one + "12");
  const std::uint32_t c = add(one + "3");
  const std::uint32_t other = add("/job/7/run=1/t/v=2/seg=0");
  const std::uint32_t of_rank = add(one + "0/worker=1");
  EXPECT_EQ(store_.find_of_value(one + "99"), a);
  EXPECT_EQ(store_.find_of_value("/job/7/run=1/t/v=2/seg=1"), other);
  EXPECT_EQ(store_.find_of_value(one + "7/worker=1"), of_rank);
  EXPECT_EQ(store_.find_of_value(one + "0/worker=2"), NameStore::kNone);
  EXPECT_EQ(store_.find_of_value("/job/7/run=1/seg=0/v=1/seg=1"), NameStore::kNone);
  store_.remove(b);
  EXPECT_EQ(store_.find_of_value(one + "99"), a);
  store_.remove(a);
  EXPECT_EQ(store_.find_of_value(one + "99"), c);
  store_.remove(c);
  EXPECT_EQ(store_.find_of_value(one + "99"), NameStore::kNone);
  const std::uint32_t again = add(one + "0");
  EXPECT_EQ(store_.find_of_value(one + "1"), again);
}

TEST_F(Store, SaysWhoseBytesGaveWay) {
  const std::uint32_t a = store_.add("/a", 5, 7, {});
  EXPECT_EQ(store_.keep(a, bytes("1")), 0u);
  EXPECT_EQ(store_.keep(add("/b"), bytes("2")), 0u);
  EXPECT_EQ(store_.keep(store_.add("/c", 6, 8, {}), bytes("3")), 7u);
}

TEST_F(Store, AnEmptySegmentIsOneToo) {
  const std::uint32_t a = add("/a");
  store_.keep(a, {});
  EXPECT_TRUE(store_.has_bytes(a));
  EXPECT_EQ(value(a), "");
}

}  // namespace
}  // namespace tributary::aggregator
