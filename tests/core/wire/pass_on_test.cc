#include "core/wire/pass_on.h"

#include <gtest/gtest.h>

namespace tributary::wire {
namespace {

TEST(PassOn, Rule18_AChecksumIsOfOneHopTheRestTravelsOn) {
  std::array<std::byte, 128> room;
  ExtensionWriter first(room);
  ASSERT_TRUE(first.add(TaskInformation{77, 5, 2}));
  ASSERT_TRUE(first.add_crc32c_placeholder());
  ASSERT_TRUE(first.add_raw(static_cast<std::uint8_t>(ExtensionType::padding), 0, {}));
  ASSERT_TRUE(first.add_target_rank(3));
  std::array<std::byte, 128> more;
  ExtensionWriter second(more);
  ASSERT_TRUE(add_passed_on(second, first.bytes()));
  EXPECT_EQ(find_task_information(second.bytes()), (TaskInformation{77, 5, 2}));
  EXPECT_EQ(find_target_rank(second.bytes()), 3u);
  EXPECT_FALSE(find_extension(second.bytes(), ExtensionType::crc32c));
  EXPECT_FALSE(find_extension(second.bytes(), ExtensionType::padding));
  ASSERT_TRUE(second.add_crc32c_placeholder()) << "the next hop's own";
}

TEST(PassOn, KeepsWhatMustBeUnderstood) {
  std::array<std::byte, 64> room;
  ExtensionWriter first(room);
  ASSERT_TRUE(first.add_raw(static_cast<std::uint8_t>(ExtensionType::nonce) | kCriticalBit, 9, {}));
  std::array<std::byte, 64> more;
  ExtensionWriter second(more);
  ASSERT_TRUE(add_passed_on(second, first.bytes()));
  EXPECT_TRUE(find_extension(second.bytes(), ExtensionType::nonce)->critical);
  EXPECT_EQ(find_extension(second.bytes(), ExtensionType::nonce)->inline_value, 9);
}

TEST(PassOn, SaysWhenThereIsNoRoom) {
  std::array<std::byte, 64> room;
  ExtensionWriter first(room);
  ASSERT_TRUE(first.add(TaskInformation{77, 5, 2}));
  std::array<std::byte, 8> little;
  ExtensionWriter second(little);
  EXPECT_FALSE(add_passed_on(second, first.bytes()));
}

}  // namespace
}  // namespace tributary::wire
