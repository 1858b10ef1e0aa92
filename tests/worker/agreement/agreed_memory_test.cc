#include "worker/agreement/agreed_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include "core/prng.h"

namespace tributary::worker {
namespace {

std::uintptr_t address(const std::shared_ptr<std::byte[]>& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.get());
}

TEST(AgreedMemory, A3_RanksThatMakeTheSameCallsAgree) {
  Prng random(3);
  for (const AddressBits bits : {AddressBits{16, 1}, {12, 2}, {10, 4}, {6, 1}, {20, 3}}) {
    AgreedMemory first(bits);
    AgreedMemory second(bits);
    std::vector<std::shared_ptr<std::byte[]>> kept;
    for (int i = 0; i < 50; ++i) {
      const std::size_t bytes = random.below(200'000);
      kept.push_back(first.allocate(bytes));
      const auto memory = second.allocate(bytes);  // freed at once: other pages
      EXPECT_EQ(address(kept.back()) % bits.period(), address(memory) % bits.period());
      EXPECT_EQ(address(memory) % 64, 0u);
      EXPECT_TRUE(std::all_of(memory.get(), memory.get() + bytes,
                              [](std::byte b) { return b == std::byte{}; }));
      std::memset(memory.get(), 1, bytes);
    }
  }
}

TEST(AgreedMemory, A3_SmallArraysTakeTurnsOverTheBlocks) {
  const AddressBits bits{12, 2};
  AgreedMemory memory(bits);
  std::vector<std::uintptr_t> choices;
  for (const std::size_t bytes : {0u, 100u, 5000u, 4096u, 1u})
    choices.push_back(address(memory.allocate(bytes)) % bits.period() >> 12);
  EXPECT_EQ(choices, (std::vector<std::uintptr_t>{0, 1, 2, 0, 1}));
}

TEST(AgreedMemory, A3_ACallThatFailsChangesNothing) {
  const AddressBits bits{16, 1};
  AgreedMemory memory(bits);
  EXPECT_THROW((void)memory.allocate(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW((void)memory.allocate(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(address(memory.allocate(8)) % bits.period(), 0u);
}

TEST(AgreedMemory, WithoutBitsIsMemory) {
  AgreedMemory memory({});
  const auto array = memory.allocate(10'000);
  std::memset(array.get(), 7, 10'000);
  EXPECT_EQ(address(array) % 64, 0u);
}

}  // namespace
}  // namespace tributary::worker
