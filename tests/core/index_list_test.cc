#include "core/index_list.h"

#include <gmock/gmock.h>

#include <vector>

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Entry {
  std::uint32_t older = 0;
  std::uint32_t newer = 0;
};
using List = IndexList<Entry, &Entry::older, &Entry::newer>;

class IndexListTest : public ::testing::Test {
 protected:
  void append(std::initializer_list<std::uint32_t> indices) {
    for (const std::uint32_t i : indices) list_.append(entries_, i);
  }
  std::vector<std::uint32_t> forwards() {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = list_.oldest(); i != List::kNone; i = entries_[i].newer)
      found.push_back(i);
    return found;
  }
  std::vector<std::uint32_t> backwards() {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = list_.newest(); i != List::kNone; i = entries_[i].older)
      found.push_back(i);
    return found;
  }

  std::vector<Entry> entries_{5};
  List list_;
};

TEST_F(IndexListTest, KeepsTheOrderOfAppending) {
  EXPECT_TRUE(list_.empty());
  append({3, 0, 4});
  EXPECT_FALSE(list_.empty());
  EXPECT_THAT(forwards(), ElementsAre(3, 0, 4));
  EXPECT_THAT(backwards(), ElementsAre(4, 0, 3));
}

TEST_F(IndexListTest, RemovesFromBothEndsAndTheMiddle) {
  append({0, 1, 2, 3, 4});
  for (const std::uint32_t i : {2u, 0u, 4u}) list_.remove(entries_, i);
  EXPECT_THAT(forwards(), ElementsAre(1, 3));
  EXPECT_THAT(backwards(), ElementsAre(3, 1));
}

TEST_F(IndexListTest, AnEntryThatWasRemovedMayComeBack) {
  append({1, 2});
  list_.remove(entries_, 1);
  list_.remove(entries_, 2);
  EXPECT_THAT(forwards(), IsEmpty());
  append({2, 1});
  EXPECT_THAT(forwards(), ElementsAre(2, 1));
}

}  // namespace
}  // namespace tributary
