#include "worker/api/plane_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "worker/layout/address_bits.h"

namespace tributary::worker {
namespace {

wire::StartInfo start_of(std::uint32_t planes) {
  wire::StartInfo start;
  start.chunk_bytes = 16;  // 4 elements of 32 bits
  start.window = 8;
  start.planes = planes;
  return start;
}

std::vector<std::pair<std::size_t, std::size_t>> pairs(const std::vector<PlaneRange>& ranges) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (const PlaneRange& r : ranges) out.emplace_back(r.begin, r.count);
  return out;
}

TEST(PlaneRanges, AreWholeChunksOneBehindTheOther) {
  using P = std::pair<std::size_t, std::size_t>;
  using testing::ElementsAre;
  EXPECT_THAT(pairs(plane_ranges(40, 4, 2)), ElementsAre(P(0, 20), P(20, 20)));
  EXPECT_THAT(pairs(plane_ranges(41, 4, 2)), ElementsAre(P(0, 24), P(24, 17)));
  EXPECT_THAT(pairs(plane_ranges(20, 4, 3)), ElementsAre(P(0, 8), P(8, 8), P(16, 4)));
  EXPECT_THAT(pairs(plane_ranges(5, 4, 3)), ElementsAre(P(0, 4), P(4, 1)));
  EXPECT_THAT(pairs(plane_ranges(4, 4, 16)), ElementsAre(P(0, 4)));
  EXPECT_THAT(pairs(plane_ranges(0, 4, 16)), ElementsAre(P(0, 0)));
  EXPECT_THAT(pairs(plane_ranges(9, 4, 1)), ElementsAre(P(0, 9)));
}

TEST(PlaneRanges, CoverEveryElementOnceAndAreEven) {
  for (std::size_t count = 0; count < 70; ++count)
    for (std::uint32_t planes = 1; planes <= 16; ++planes) {
      std::size_t next = 0;
      std::size_t least = count;
      std::size_t most = 0;
      const auto ranges = plane_ranges(count, 3, planes);
      ASSERT_LE(ranges.size(), planes);
      for (const PlaneRange& r : ranges) {
        EXPECT_EQ(r.begin, next);
        EXPECT_EQ(r.begin % 3, 0u);
        least = std::min(least, (r.count + 2) / 3);
        most = std::max(most, (r.count + 2) / 3);
        next += r.count;
      }
      EXPECT_EQ(next, count);
      if (ranges.size() == planes) {
        EXPECT_LE(most - least, 1u);
      }
    }
}

// What a collective reads and writes on one rank, chunk by chunk of all planes: the same memory,
// once, as where there is one plane.
struct Touched {
  std::multiset<std::pair<const void*, std::size_t>> read;
  std::multiset<std::pair<const void*, std::size_t>> written;
  std::size_t total = 0;
  bool operator==(const Touched&) const = default;
};

constexpr std::uint32_t kPartsRank = 1;
constexpr std::uint32_t kPartsRanks = 3;

Touched touched_by(Request::State& state, std::uint32_t planes) {
  Touched touched;
  for (Request::Part& part : state.parts) {
    part.cut(kPartsRank, kPartsRanks, start_of(planes));
    touched.total = part.total(kPartsRanks);
    for (std::uint32_t c = 0; c < part.chunks; ++c) {
      const auto in = part.contributes(c) ? part.input_of(c) : std::span<const std::byte>{};
      const auto out = part.receives(c) ? std::span<const std::byte>(part.output_of(c))
                                        : std::span<const std::byte>{};
      if (!in.empty()) touched.read.emplace(in.data(), in.size());
      if (!out.empty()) touched.written.emplace(out.data(), out.size());
    }
  }
  return touched;
}

Touched touched_by(const Op& op, std::uint32_t planes) {
  Request::State state;
  split(op, kPartsRank, kPartsRanks, start_of(planes), state);
  return touched_by(state, planes);
}

TEST(PlaneParts, A2_EveryCollectiveTouchesTheSameMemoryOnce) {
  std::vector<std::int32_t> data(3 * 50);
  std::vector<std::int32_t> output(3 * 50);
  for (std::uint8_t c = 0; c <= wire::kCollectiveMax; ++c)
    for (const std::size_t count : {0u, 1u, 4u, 5u, 29u, 50u}) {
      Op op;
      op.collective = static_cast<wire::Collective>(c);
      if (op.collective == wire::Collective::barrier && count > 0) continue;
      op.data = reinterpret_cast<std::byte*>(data.data());
      op.output = reinterpret_cast<std::byte*>(output.data());
      op.count = count;
      op.dtype = wire::DType::int32;
      op.root = 1;
      const Touched whole = touched_by(op, 1);
      EXPECT_EQ(whole.total, count * (op.has_owners() ? 3 : 1));
      for (const std::uint32_t planes : {2u, 3u, 7u, 16u})
        EXPECT_EQ(touched_by(op, planes), whole)
            << wire::name_of(op.collective) << " of " << count << " on " << planes;
    }
}

// The shards of several switches, by address, on switches with any number of planes. A shard that
// is cut again, as after a drain, is the same.
TEST(PlaneParts, A3_ShardsByAddressTouchTheSameMemoryOnce) {
  std::vector<std::int32_t> data(3 * 50);
  std::vector<std::int32_t> output(3 * 50);
  for (const auto collective :
       {wire::Collective::allreduce, wire::Collective::reduce, wire::Collective::broadcast,
        wire::Collective::all_gather, wire::Collective::reduce_scatter})
    for (const std::size_t count : {0u, 1u, 4u, 29u, 50u}) {
      Op op;
      op.collective = collective;
      op.data = reinterpret_cast<std::byte*>(data.data());
      op.output = reinterpret_cast<std::byte*>(output.data());
      op.count = count;
      op.dtype = wire::DType::int32;
      op.root = 1;
      const Touched whole = touched_by(op, 1);
      const auto shards =
          layout::chunks_by_switch({0x34, 4, count, 4, op.has_owners() ? 3u : 1u}, {6, 2}, 3);
      for (const std::uint32_t planes : {1u, 2u, 7u}) {
        Touched touched;
        for (const auto& places : shards) {
          Request::State state;
          state.places = places;
          Op shard = op;
          shard.of_count = count;
          shard.places = layout::ChunkPlaces(state.places);
          shard.address = 0x34;
          split(shard, kPartsRank, kPartsRanks, start_of(3), state);
          split_again(kPartsRank, kPartsRanks, start_of(planes), state);
          EXPECT_EQ(state.parts.front().plane, 0);
          EXPECT_EQ(state.parts.front().address, 0x34u);
          const Touched one = touched_by(state, planes);
          touched.read.insert(one.read.begin(), one.read.end());
          touched.written.insert(one.written.begin(), one.written.end());
          touched.total = one.total;
        }
        EXPECT_EQ(touched, whole) << wire::name_of(collective) << " of " << count << " on "
                                  << planes;
      }
    }
}

TEST(PlaneParts, PlaneZeroHasAShareOfEveryOpAndModelsWhole) {
  std::vector<float> data(100);
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = 100;
  op.dtype = wire::DType::float32;
  const auto planes_of = [&] {
    Request::State state;
    split(op, 0, 2, start_of(4), state);
    std::vector<int> planes;
    for (const auto& part : state.parts) planes.push_back(part.plane);
    return planes;
  };
  EXPECT_THAT(planes_of(), testing::ElementsAre(0, 1, 2, 3));
  op.count = 4;
  EXPECT_THAT(planes_of(), testing::ElementsAre(0));
  op.count = 100;
  op.collective = wire::Collective::update;
  EXPECT_THAT(planes_of(), testing::ElementsAre(0));
  op = {};
  op.collective = wire::Collective::barrier;
  EXPECT_THAT(planes_of(), testing::ElementsAre(0));
}

// One exponent for each chunk, whichever plane it is in; a plane's mantissas wait for its own.
TEST(PlaneParts, BlockScaledChunksHaveTheSameExponents) {
  std::vector<float> data(41);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = std::ldexp(1.0F, static_cast<int>(i) - 20);
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  op.dtype = wire::DType::float32;
  const auto exponents_on = [&](std::uint32_t planes) {
    Request::State state;
    split_block_scaled(op, 0, 2, start_of(planes), {}, state);
    std::vector<std::int16_t> all;
    for (std::size_t i = 0; i < state.parts.size(); i += 2) {
      const Request::Part& largest = state.parts[i];
      const Request::Part& sum = state.parts[i + 1];
      EXPECT_EQ(largest.dtype, wire::DType::int16);
      EXPECT_EQ(largest.reduce_op, wire::ReduceOp::max);
      EXPECT_EQ(sum.dtype, wire::DType::int32);
      EXPECT_EQ(sum.after, &largest);
      EXPECT_EQ(sum.plane, largest.plane);
      EXPECT_EQ(sum.scaled, sum.block_scaled.get());
      for (const std::int16_t e : sum.block_scaled->exponents()) all.push_back(e);
    }
    return all;
  };
  const auto one = exponents_on(1);
  EXPECT_EQ(one.size(), 11u);
  for (const std::uint32_t planes : {2u, 3u, 16u}) EXPECT_EQ(exponents_on(planes), one) << planes;
}

TEST(PlaneParts, A3_BlockScaledShardsHaveTheExponentsOfTheWholeArray) {
  std::vector<float> data(41);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = std::ldexp(1.0F, static_cast<int>(i) - 20);
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  op.dtype = wire::DType::float32;
  BlockScaled whole(data, 2, 4);
  std::size_t chunks = 0;
  for (const auto& places : layout::chunks_by_switch({0, 4, 41, 4, 1}, {5, 1}, 2)) {
    Request::State state;
    state.places = places;
    Op shard = op;
    shard.of_count = op.count;
    shard.places = layout::ChunkPlaces(state.places);
    shard.address = 0;
    split_block_scaled(shard, 0, 2, start_of(3), {}, state);
    split_again(0, 2, start_of(2), state);
    ASSERT_EQ(state.parts.size(), 4u);
    std::size_t next = 0;
    for (std::size_t i = 0; i < 4; i += 2) {
      EXPECT_EQ(state.parts[i].address, 0u);
      EXPECT_TRUE(state.parts[i].places.all());
      for (const std::int16_t e : state.parts[i + 1].block_scaled->exponents())
        EXPECT_EQ(e, whole.exponent(places[next++]));
    }
    EXPECT_EQ(next, places.size());
    chunks += next;
  }
  EXPECT_EQ(chunks, 11u);
}

TEST(PlaneParts, WithAChosenExponentThereIsNothingToAgreeOn) {
  std::vector<float> data(41, 1.5F);
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  Request::State state;
  split_block_scaled(op, 0, 2, start_of(2), -8, state);
  ASSERT_EQ(state.parts.size(), 2u);
  for (const auto& part : state.parts) {
    EXPECT_EQ(part.after, nullptr);
    EXPECT_TRUE(part.scaled->chosen());
  }
}

TEST(PlaneParts, AnOpIsDoneWithItsLastPartAndHasFailedIfOneHas) {
  Op op;
  std::vector<std::int32_t> data(20);
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = data.size();
  op.dtype = wire::DType::int32;
  Request::State state;
  split(op, 0, 2, start_of(3), state);
  ASSERT_EQ(state.parts.size(), 3u);
  state.parts[1].failure = Failure{wire::Reason::overflow, {}, "too large", 0};
  state.parts[1].left_out = {0b10};
  state.parts[2].left_out = {0b01};
  for (Request::Part& part : state.parts) part.cut(0, 2, start_of(3));
  state.parts[1].lacking = {{1, 1}};
  state.parts[2].lacking = {{0, 1}};
  EXPECT_FALSE(state.finish(state.parts[2]));
  EXPECT_FALSE(state.finish(state.parts[1]));
  EXPECT_TRUE(state.finish(state.parts[0]));
  state.complete();
  ASSERT_TRUE(state.failure.has_value());
  EXPECT_EQ(state.failure->text, "too large");
  EXPECT_THAT(state.left_out, testing::ElementsAre(0b11u));
  // 20 elements in five chunks: two for each of the first planes.
  EXPECT_THAT(state.lacking,
              testing::ElementsAre(Outcome::Part{12, 4, 1}, Outcome::Part{16, 4, 1}));
}

}  // namespace
}  // namespace tributary::worker
