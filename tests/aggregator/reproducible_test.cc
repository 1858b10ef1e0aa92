// T4, T15: a reproducible job's result has the bits of the declared expression, for every type and
// op in which another order shows: for any order of arrival, folded as far as the order goes or
// collected, with any shards and planes, and on every instruction set.
#include "tests/aggregator/reproducible.h"

#include <cstdlib>
#include <string>

#include "aggregator/chunk/bracketing.h"

namespace tributary::aggregator::reproducible {
namespace {

class Reproducible : public EngineTest {
 protected:
  void start(const config::JobConfig& job) {
    build(test_switch({job}));
    join_all();
    seq_ = 0;
  }
  // The result of the next chunk, when the ranks arrive in this order.
  std::vector<std::byte> reduce(const Case& c, const Data& data,
                                const std::vector<std::uint32_t>& arrival) {
    for (const std::uint32_t r : arrival) {
      wire::Header h = data_header(r, seq_, kElements, c.dtype);
      h.reduce_op = c.op;
      const std::vector<std::byte> payload = packed(c.dtype, data[r]);
      deliver({h, {}, payload}, peer(r));
    }
    ++seq_;
    EXPECT_EQ(sent_.size(), 1u);
    return sent_.empty() ? std::vector<std::byte>() : sent_[0].payload;
  }

  void join_plane(std::uint8_t plane) {
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      std::array<std::byte, 16> room;
      wire::ExtensionWriter ext(room);
      ext.add_nonce(nonce(r, 0));
      wire::Header h = header(PacketType::join, r);
      h.plane = plane;
      deliver({h, ext.bytes(), {}}, peer(r));
    }
    ASSERT_EQ(sent_.size(), kRanks);
    epoch_ = sent_[0].header.epoch;
  }

  std::uint32_t seq_ = 0;
};

TEST_F(Reproducible, T15_AllArrivalOrdersGiveTheDeclaredBits) {
  const Bracket orders[] = {by_rank(), list({rank(2), rank(4), rank(0), rank(1), rank(3)}),
                            list({list({rank(3), rank(0), rank(1)}), list({rank(4), rank(2)})}),
                            list({rank(1), list({rank(0), list({rank(4), rank(3)})}), rank(2)})};
  for (const Bracket& declared : orders) {
    for (const Trigger trigger : {Trigger::streaming, Trigger::collect}) {
      config::JobConfig job = reproducible_job(trigger);
      job.bracketing = declared;
      start(job);
      for (const Case& c : kinds()) {
        const Data data = data_of(c, 7);
        const auto right = expected(c, declared, data);
        for_each_arrival([&](const auto& arrival) { ASSERT_EQ(reduce(c, data, arrival), right); });
        if (HasFatalFailure()) FAIL() << reference::name_of(c);
      }
    }
  }
}

// T4: who collects gets the order of ranks without asking for it.
TEST_F(Reproducible, T4_WhatIsCollectedIsInTheOrderOfRanks) {
  config::JobConfig job = reproducible_job(Trigger::collect);
  job.order = wire::Order::fast;
  start(job);
  for (const Case& c : kinds()) {
    const Data data = data_of(c, 8);
    const auto right = expected(c, by_rank(), data);
    for_each_arrival([&](const auto& arrival) { ASSERT_EQ(reduce(c, data, arrival), right); });
  }
}

// Otherwise the others prove nothing. Products of a few float16 are too exact in float32, and far
// too small for its range, to show their order.
TEST_F(Reproducible, TheDataTellsOrdersApart) {
  config::JobConfig job = reproducible_job(Trigger::streaming);
  job.order = wire::Order::fast;
  start(job);
  for (const Case& c : kinds()) {
    const Data data = data_of(c, 7);
    bool differs = false;
    for_each_arrival([&](const auto& arrival) {
      differs |= reduce(c, data, arrival) != expected(c, by_rank(), data);
    });
    EXPECT_EQ(differs, c.dtype != DType::float16 || c.op != ReduceOp::prod) << name_of(c);
  }
}

// Shards and planes, each of which has an lcore of its own, share out chunks, never what is in one.
TEST_F(Reproducible, T15_ShardsAndPlanesChangeNoBit) {
  constexpr std::uint32_t kChunks = 32;
  struct Split {
    std::uint8_t planes;
    std::uint8_t shards;
  };
  std::uint64_t seed = 0;
  for (const auto [planes, shards] :
       {Split{1, 1}, Split{1, 3}, Split{1, 16}, Split{2, 1}, Split{3, 2}, Split{4, 4}})
    for (const Case& c : kinds()) {
      Prng prng(++seed);
      for (std::uint8_t plane = 0; plane < planes; ++plane) {
        config::JobConfig job = reproducible_job(Trigger::collect);
        job.planes = planes;
        job.plane = plane;
        job.shards = shards;
        build(test_switch({job}));
        join_plane(plane);
        for (std::uint32_t chunk = plane; chunk < kChunks; chunk += planes) {
          std::vector<std::uint32_t> arrival(kRanks);
          std::iota(arrival.begin(), arrival.end(), 0u);
          for (std::uint32_t i = kRanks; i > 1; --i)
            std::swap(arrival[i - 1], arrival[prng.below(i)]);
          const Data data = data_of(c, chunk);
          for (const std::uint32_t r : arrival) {
            wire::Header h = data_header(r, chunk / planes / shards, kElements, c.dtype);
            h.plane = plane;
            h.reduce_op = c.op;
            h.op = 0;
            h.chunk = chunk;
            h.shard = static_cast<std::uint8_t>(chunk / planes % shards);
            h.flags = chunk + 1 == kChunks ? std::uint32_t{wire::kFlagLast} : 0u;
            const std::vector<std::byte> payload = packed(c.dtype, data[r]);
            deliver({h, {}, payload}, peer(r));
          }
          ASSERT_EQ(sent_.size(), 1u) << chunk;
          ASSERT_EQ(sent_[0].payload, expected(c, by_rank(), data))
              << name_of(c) << ", " << +planes << " planes, " << +shards << " shards, " << chunk;
        }
      }
    }
}

// In one process an engine has one instruction set: the others' kernels evaluate brackets here, and
// all of this file runs with each of them named by the environment.
TEST(ReproducibleKernels, T15_EveryInstructionSetEvaluatesBracketsAlike) {
  const Bracket orders[] = {by_rank(), list({rank(3), rank(1), rank(4), rank(2), rank(0)}),
                            list({rank(1), list({rank(0), list({rank(4), rank(3)})}), rank(2)})};
  for (const Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    for (const Case& c : kinds()) {
      const Kernels* const k = find_kernels(c.dtype, c.op, c.arithmetic, isa);
      ASSERT_NE(k, nullptr);
      const Data data = data_of(c, 9);
      for (const Bracket& declared : orders) {
        const Bracketing order(declared, std::vector<bool>(kRanks));
        std::vector<std::vector<std::byte>> bytes;
        for (const auto& of_rank : data) bytes.push_back(packed(c.dtype, of_rank));
        std::vector<const void*> sources;
        for (std::uint16_t p = 0; p < kRanks; ++p)
          sources.push_back(bytes[order.child_at(p)].data());
        std::vector<std::byte> memory(3 * kElements * sizeof(Bits));
        const std::array<std::byte*, 2> scratch = {memory.data(),
                                                   memory.data() + memory.size() / 3};
        std::byte* const acc = memory.data() + 2 * memory.size() / 3;
        order.evaluate(*k, acc, sources, kElements, scratch);
        std::vector<std::byte> result(kElements * wire::size_of(c.dtype));
        k->finish(result.data(), acc, kElements, kRanks);
        EXPECT_EQ(result, expected(c, declared, data)) << name_of(isa) << " " << name_of(c);
      }
    }
  }
}

TEST(ReproducibleKernels, TheEnvironmentNamesTheInstructionSet) {
  const char* const wanted = std::getenv("TRIBUTARY_ISA");
  EXPECT_EQ(best_isa(), choose_isa(wanted == nullptr ? "" : wanted));
  if (wanted == nullptr) return;
  for (const Isa isa : kAllIsas)
    if (isa_available(isa) && std::string(wanted) == name_of(isa)) {
      EXPECT_EQ(best_isa(), isa);
    }
}

}  // namespace
}  // namespace tributary::aggregator::reproducible
