#include "aggregator/chunk/fold_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "core/prng.h"

namespace tributary::aggregator {
namespace {

using How = Fold::How;

constexpr std::uint16_t kElements = 24;  // not a whole number of every kernel's vectors

const Kernels& kernels_of(wire::DType dtype) {
  return *find_kernels(dtype, wire::ReduceOp::sum, Arithmetic::saturating);
}
const Kernels& of_floats() {
  return kernels_of(wire::DType::float32);
}

// A chunk with its sum.
struct Chunk {
  ChunkEntry entry;
  std::array<std::byte, kElements * 8> sum{};
  const Kernels* kernels = nullptr;
  bool open = false;

  Fold fold(const std::vector<std::byte>& data, bool accumulator = false) {
    const How how =
        open ? (accumulator ? How::merge : How::fold) : (accumulator ? How::copy : How::open);
    open = true;
    return {&entry, sum.data(), data.data(), kernels, kElements, how};
  }
};

std::vector<std::byte> floats(float value) {
  const std::vector<float> values(kElements, value);
  std::vector<std::byte> bytes(values.size() * sizeof value);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
float first_of(const Chunk& chunk) {
  float value = 0;
  std::memcpy(&value, chunk.sum.data(), sizeof value);
  return value;
}

// T15, O10: whatever waits for what, and however many chunks there are, sums and marks of overflow
// are those of folds that are made at once.
TEST(FoldQueue, T15_SumsHaveTheBitsOfFoldsMadeAtOnce) {
  constexpr wire::DType kTypes[] = {wire::DType::float32, wire::DType::int32, wire::DType::uint8,
                                    wire::DType::float16};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    const std::size_t count = 1 + prng.below(300);
    std::vector<Chunk> waits(count);
    std::vector<Chunk> at_once(count);
    for (std::size_t i = 0; i < count; ++i)
      waits[i].kernels = at_once[i].kernels = &kernels_of(kTypes[i % std::size(kTypes)]);
    FoldQueue queue;
    std::vector<std::vector<std::byte>> data;
    queue.begin();
    for (int step = 0; step < 2'000; ++step) {
      // Most often one of a few, so that much waits for it.
      const std::size_t i = prng.below(
          static_cast<std::uint32_t>(prng.below(2) == 0 ? std::min<std::size_t>(count, 4) : count));
      const std::uint32_t what = prng.below(100);
      if (what == 0) queue.settle();
      if (what < 5) {
        queue.settle(waits[i].entry);
        EXPECT_EQ(waits[i].sum, at_once[i].sum);
        EXPECT_EQ(waits[i].entry.overflow, at_once[i].entry.overflow);
        continue;
      }
      data.emplace_back(sizeof waits[i].sum);
      for (std::byte& b : data.back()) b = static_cast<std::byte>(prng.below(0x50));
      const bool accumulator = what < 10;
      queue.add(waits[i].fold(data.back(), accumulator));
      at_once[i].fold(data.back(), accumulator).make();
    }
    queue.end();
    std::size_t overflows = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(waits[i].sum, at_once[i].sum) << "chunk " << i;
      ASSERT_EQ(waits[i].entry.overflow, at_once[i].entry.overflow) << "chunk " << i;
      overflows += waits[i].entry.overflow ? 1 : 0;
    }
    EXPECT_TRUE(overflows > 0 || count <= 4);
  }
}

// What is complete is made, and nothing else has to be.
TEST(FoldQueue, SettlesOneChunkAlone) {
  FoldQueue queue;
  std::vector<Chunk> chunks(2);
  const auto one = floats(1);
  queue.begin();
  for (int i = 0; i < 3; ++i)
    for (Chunk& chunk : chunks) {
      chunk.kernels = &of_floats();
      queue.add(chunk.fold(one));
    }
  queue.settle(chunks[0].entry);
  EXPECT_EQ(first_of(chunks[0]), 3);
  EXPECT_EQ(first_of(chunks[1]), 0);
  queue.settle();
  EXPECT_EQ(first_of(chunks[0]), 3);
  EXPECT_EQ(first_of(chunks[1]), 3);
}

// A chunk entry's next chunk has another buffer.
TEST(FoldQueue, AChunkInTheSamePlaceHasASumOfItsOwn) {
  FoldQueue queue;
  Chunk chunk;
  chunk.kernels = &of_floats();
  const auto one = floats(1);
  const auto ten = floats(10);
  queue.begin();
  queue.add(chunk.fold(one));
  queue.settle(chunk.entry);
  std::array<std::byte, sizeof chunk.sum> next{};
  queue.add({&chunk.entry, next.data(), ten.data(), chunk.kernels, kElements, How::open});
  queue.add({&chunk.entry, next.data(), ten.data(), chunk.kernels, kElements, How::fold});
  queue.end();
  EXPECT_EQ(first_of(chunk), 1);
  float sum = 0;
  std::memcpy(&sum, next.data(), sizeof sum);
  EXPECT_EQ(sum, 20);
}

// Outside of a burst nothing waits.
TEST(FoldQueue, MakesAtOnceWhatNeedNotWait) {
  FoldQueue queue;
  Chunk chunk;
  chunk.kernels = &of_floats();
  const auto one = floats(1);
  queue.add(chunk.fold(one));
  EXPECT_EQ(first_of(chunk), 1);
  queue.begin();
  queue.add(chunk.fold(one));
  EXPECT_EQ(first_of(chunk), 1);
  queue.end();
  EXPECT_EQ(first_of(chunk), 2);
  queue.add(chunk.fold(one));
  EXPECT_EQ(first_of(chunk), 3);
}

}  // namespace
}  // namespace tributary::aggregator
