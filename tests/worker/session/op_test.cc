#include "worker/session/op.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::worker {
namespace {

TEST(Op, ChunksCoverTheArrayOnce) {
  std::array<std::int32_t, 10> data;
  Op op;
  op.data = reinterpret_cast<std::byte*>(data.data());
  op.count = 10;
  op.dtype = wire::DType::int32;
  wire::StartInfo start;
  start.chunk_bytes = 16;
  op.cut(0, 3, start);
  EXPECT_EQ(op.chunks, 3u);
  EXPECT_EQ(op.input_of(0).data(), op.data);
  EXPECT_EQ(op.output_of(1).size(), 16u);
  EXPECT_EQ(op.elements_of(2), 2u);
  EXPECT_EQ(op.output_of(2).data() + op.output_of(2).size(), op.data + sizeof data);
}

// Every element of every collective is sent by whom it should, and lands in one place.
TEST(Op, EveryCollectiveCoversItsArraysOnce) {
  using wire::Collective;
  constexpr std::uint32_t kRanks = 3;
  wire::StartInfo start;
  start.chunk_bytes = 16;
  for (const auto kind : {Collective::allreduce, Collective::reduce, Collective::broadcast,
                          Collective::all_gather, Collective::reduce_scatter})
    for (std::size_t count = 0; count < 20; ++count)
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        SCOPED_TRACE(std::string(wire::name_of(kind)) + " of " + std::to_string(count) + ", rank " +
                     std::to_string(rank));
        std::vector<std::uint16_t> data(count * kRanks);
        std::vector<std::uint16_t> output(count * kRanks);
        Op op;
        op.data = reinterpret_cast<std::byte*>(data.data());
        op.output = reinterpret_cast<std::byte*>(output.data());
        op.count = count;
        op.dtype = wire::DType::int16;
        op.collective = kind;
        op.root = 1;
        op.cut(rank, kRanks, start);
        const std::byte* sent_to = op.data;
        const std::byte* written_to = op.has_owners() ? op.output : op.data;
        for (std::uint32_t chunk = 0; chunk < op.chunks; ++chunk) {
          if (op.contributes(chunk)) {
            const bool empty = op.elements_of(chunk) == 0;
            EXPECT_EQ(op.input_of(chunk).data(), empty ? nullptr : sent_to);
            sent_to += op.input_of(chunk).size();
          }
          if (op.receives(chunk)) {
            const bool empty = op.elements_of(chunk) == 0;
            EXPECT_EQ(op.output_of(chunk).data(), empty ? nullptr : written_to);
            written_to += op.output_of(chunk).size();
          }
        }
        const bool sends = kind != Collective::broadcast || rank == 1;
        const bool gets = kind != Collective::reduce || rank == 1;
        const std::size_t in = kind == Collective::reduce_scatter ? count * kRanks : count;
        const std::size_t out = kind == Collective::all_gather ? count * kRanks : count;
        EXPECT_EQ(static_cast<std::size_t>(sent_to - op.data), sends ? in * 2 : 0);
        EXPECT_EQ(static_cast<std::size_t>(written_to - (op.has_owners() ? op.output : op.data)),
                  gets ? out * 2 : 0);
      }
}

// A switch's op has some chunks of an array: those of the undivided op, where they are.
TEST(Op, A3_ChosenChunksAreThoseOfTheWholeArray) {
  using wire::Collective;
  constexpr std::uint32_t kRanks = 3;
  wire::StartInfo start;
  start.chunk_bytes = 16;
  std::vector<std::int32_t> data(kRanks * 10);
  std::vector<std::int32_t> output(kRanks * 10);
  for (const auto kind : {Collective::allreduce, Collective::reduce, Collective::broadcast,
                          Collective::all_gather, Collective::reduce_scatter}) {
    SCOPED_TRACE(wire::name_of(kind));
    Op whole;
    whole.data = reinterpret_cast<std::byte*>(data.data());
    whole.output = reinterpret_cast<std::byte*>(output.data());
    whole.count = 10;
    whole.dtype = wire::DType::int32;
    whole.collective = kind;
    Op some = whole;
    const std::uint32_t first = wire::moves_data(kind) ? 1 : 0;
    const std::vector<std::uint32_t> places = whole.has_owners()
                                                  ? std::vector<std::uint32_t>{1, 2, 5, 6}
                                                  : std::vector<std::uint32_t>{0, 2};
    some.places = layout::ChunkPlaces(places);
    whole.cut(0, kRanks, start);
    some.cut(0, kRanks, start);
    EXPECT_EQ(some.total(kRanks), whole.total(kRanks));
    ASSERT_EQ(some.chunks, places.size() + first);
    for (std::uint32_t c = first; c < some.chunks; ++c) {
      const std::uint32_t like = places[c - first] + first;
      EXPECT_EQ(some.elements_of(c), whole.elements_of(like));
      EXPECT_EQ(some.target_of(c), whole.target_of(like));
      EXPECT_EQ(some.contributes(c), whole.contributes(like));
      EXPECT_EQ(some.begin_of(c), whole.begin_of(like));
      if (some.contributes(c)) {
        EXPECT_EQ(some.input_of(c).data(), whole.input_of(like).data());
      }
      if (some.receives(c)) {
        EXPECT_EQ(some.output_of(c).data(), whole.output_of(like).data());
      }
    }
    some.places = layout::ChunkPlaces(std::span<const std::uint32_t>());
    some.cut(0, kRanks, start);
    EXPECT_EQ(some.chunks, 1u);
    EXPECT_EQ(some.elements_of(0), 0u);
    EXPECT_TRUE(some.input_of(0).empty());
    EXPECT_TRUE(some.output_of(0).empty());
  }
}

TEST(Op, A3_StatesItsAddressBesideItsElements) {
  Op op;
  op.count = 10;
  EXPECT_EQ(op.stated_total(3), 10u);
  op.address = 0x40;
  EXPECT_EQ(layout::total_of(op.stated_total(3)), (layout::StatedTotal{10, 0x40}));
}

TEST(OpQueue, RemovesFromAnyPlace) {
  std::array<Op, 4> ops;
  OpQueue q;
  for (Op& op : ops) q.push_back(op);
  q.remove(ops[1]);
  q.remove(ops[3]);
  q.push_back(ops[1]);
  EXPECT_EQ(q.pop_front(), &ops[0]);
  EXPECT_EQ(q.pop_front(), &ops[2]);
  EXPECT_EQ(q.pop_front(), &ops[1]);
  EXPECT_EQ(q.pop_front(), nullptr);
  EXPECT_TRUE(q.empty());
}

}  // namespace
}  // namespace tributary::worker
