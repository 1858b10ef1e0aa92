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
