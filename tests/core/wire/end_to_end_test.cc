#include "core/wire/end_to_end.h"

#include <gtest/gtest.h>

#include <array>

#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

// Rule 20: a front end leaves these out; what else there is, an engine has to see.
TEST(EndToEnd, Rule20_ACrcAndPaddingEndWhereTheyAreReceived) {
  std::array<std::byte, 64> area;
  ExtensionWriter writer(area);
  EXPECT_TRUE(is_end_to_end({}));
  ASSERT_TRUE(writer.add_crc32c_placeholder());
  ASSERT_TRUE(writer.add_raw(0, 0, {}));
  EXPECT_TRUE(is_end_to_end(writer.bytes()));
  ASSERT_TRUE(writer.add_nonce(1));
  EXPECT_FALSE(is_end_to_end(writer.bytes()));
}

}  // namespace
}  // namespace tributary::wire
