// Communicators over several switches, among which the addresses of arrays choose: threads and
// kernel sockets against engines on loopback.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "tests/worker/several_switches.h"

namespace tributary {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using worker::TestSwitch;

// A3: two chunks of 64 bytes in a block, four choices.
class ByAddressTestTimed : public worker::SeveralSwitches {
 protected:
  static constexpr AddressBits kBits{7, 2};

  ByAddressTestTimed() {
    bits = [](std::uint32_t) { return kBits; };
  }
  void start(std::size_t count, std::uint8_t planes = 1) {
    ranks.clear();
    switches.clear();
    const std::uint32_t job = worker::drawn_job_id();
    while (switches.size() < count)
      switches.push_back(std::make_unique<TestSwitch>(one(job, 64, planes)));
  }
  // One array on each rank, at the same low bits.
  template <typename T>
  std::vector<T*> arrays(std::size_t count) {
    std::vector<T*> all;
    for (const auto& rank : ranks) {
      owners.push_back(rank->allocate(count * sizeof(T)));
      all.push_back(reinterpret_cast<T*>(owners.back().get()));
    }
    return all;
  }
  // Chunks that each switch sums in one op.
  std::vector<std::uint64_t> chunks_of(
      const std::function<Request(Communicator&, std::uint32_t)>& call) {
    std::vector<std::uint64_t> all;
    for (const auto& s : switches) all.push_back(s->counters().contributions.get());
    this->all(call);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = (switches[i]->counters().contributions.get() - all[i]) / kRanks;
    return all;
  }
  // What each rank is told.
  std::vector<std::string> errors_of(
      const std::function<Request(Communicator&, std::uint32_t)>& call) {
    std::vector<Request> requests;
    for (std::uint32_t r = 0; r < kRanks; ++r) requests.push_back(call(*ranks[r], r));
    std::vector<std::string> errors;
    for (Request& request : requests) try {
        request.wait();
        errors.emplace_back();
      } catch (const CommunicatorError& e) {
        errors.emplace_back(e.what());
      }
    return errors;
  }

  std::vector<std::shared_ptr<std::byte[]>> owners;
};

TEST_F(ByAddressTestTimed, A3_TheAddressOfAChunkChoosesItsSwitch) {
  start(3);
  join_all();
  const auto data = arrays<std::int32_t>(16 * 8);
  const auto sum = [&](std::size_t from, std::size_t count) {
    return [&data, from, count](Communicator& c, std::uint32_t r) {
      return c.allreduce(data[r] + from, count, wire::DType::int32, wire::ReduceOp::sum);
    };
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(chunks_of(sum(0, 128)),
              ElementsAre(4, 2, 2));  // the fourth block is the first's again
  // The first switch hears of every op: of one without chunks in its blocks, an empty one.
  EXPECT_THAT(chunks_of(sum(32, 32)), ElementsAre(1, 2, 0));
  EXPECT_THAT(chunks_of(sum(64, 1)), ElementsAre(1, 0, 1));
  EXPECT_THAT(chunks_of(sum(0, 1)), ElementsAre(1, 0, 0));
  EXPECT_THAT(chunks_of(sum(5, 0)), ElementsAre(1, 0, 0));
  // A chunk that begins at a block's last bytes is that block's.
  EXPECT_THAT(chunks_of(sum(31, 16)), ElementsAre(1, 0, 0));
  // What is allocated next begins in the next block.
  const auto next = arrays<std::int32_t>(1);
  const auto after = arrays<std::int32_t>(1);
  EXPECT_THAT(chunks_of([&](Communicator& c, std::uint32_t r) {
                return c.allreduce(after[r], 1, wire::DType::int32, wire::ReduceOp::sum);
              }),
              ElementsAre(1, 1, 0));
}

TEST_F(ByAddressTestTimed, A3_EveryCollectiveIsExactWhereverItsMemoryBegins) {
  for (const std::uint8_t planes : {std::uint8_t{1}, std::uint8_t{2}}) {
    start(3, planes);
    join_all();
    const auto memory = arrays<std::int32_t>(4000);
    const auto results = arrays<std::int32_t>(4000);
    for (const std::size_t count : {0u, 1u, 16u, 17u, 33u, 1000u})
      for (const std::size_t from : {0u, 1u, 30u, 53u, 96u}) {
        SCOPED_TRACE(std::to_string(count) + " from " + std::to_string(from));
        std::vector<Ints> fresh;
        for (std::int32_t r = 0; r < 3; ++r) fresh.push_back(numbers(count, r));
        const auto fill = [&] {
          for (std::size_t r = 0; r < 3; ++r)
            std::copy(fresh[r].begin(), fresh[r].end(), memory[r] + from);
        };
        const auto held = [&](std::int32_t* at, std::size_t n) { return Ints(at, at + n); };
        fill();
        all([&](Communicator& c, std::uint32_t r) {
          return c.allreduce(memory[r] + from, count, wire::DType::int32, wire::ReduceOp::sum);
        });
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(memory[r][from + i], 6 * fresh[0][i]);
        fill();
        all([&](Communicator& c, std::uint32_t r) {
          return c.reduce(memory[r] + from, count, wire::DType::int32, wire::ReduceOp::max, 1);
        });
        EXPECT_EQ(held(memory[1] + from, count), fresh[2]);
        EXPECT_EQ(held(memory[0] + from, count), fresh[0]);
        fill();
        all([&](Communicator& c, std::uint32_t r) {
          return c.broadcast(memory[r] + from, count, wire::DType::int32, 2);
        });
        for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(held(memory[r] + from, count), fresh[2]);
        // The input's address chooses nothing.
        all([&](Communicator& c, std::uint32_t r) {
          return c.all_gather(fresh[r].data(), results[r] + from, count, wire::DType::int32);
        });
        Ints together;
        for (const Ints& part : fresh) together.insert(together.end(), part.begin(), part.end());
        for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(held(results[r] + from, 3 * count), together);
        // In place at the head of the input, where the result waits in memory of its own.
        all([&](Communicator& c, std::uint32_t r) {
          return c.reduce_scatter(results[r] + from, results[r] + from, count, wire::DType::int32,
                                  wire::ReduceOp::sum);
        });
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(results[r][from + i], 3 * fresh[r][i]);
        all([&](Communicator& c, std::uint32_t) { return c.barrier_async(); });
      }
    for (const auto& s : switches)
      for (std::uint8_t plane = 0; plane < planes; ++plane)
        EXPECT_GT(s->counters(0, plane).contributions.get(), 100u);
  }
}

// A list is packed, or not, wherever its arrays are: it counts as an array at address 0.
TEST_F(ByAddressTestTimed, A3_ListsNeedNoMemoryOfTheirOwn) {
  start(2);
  join_all();
  std::vector<Ints> apart(kRanks, Ints(300, 1));
  for (std::size_t gap : {0u, 10u})
    all([&](Communicator& c, std::uint32_t r) {
      // On rank 0 they follow each other, and are not copied.
      const std::size_t second = r == 0 ? 100 : 100 + gap;
      const std::array<ArrayPart, 2> parts = {ArrayPart{apart[r].data(), 100},
                                              ArrayPart{apart[r].data() + second, 100}};
      return c.allreduce(parts, wire::DType::int32, wire::ReduceOp::sum);
    });
  for (const Ints& rank : apart) EXPECT_EQ(rank[0], 9);
}

TEST_F(ByAddressTestTimed, A3_FloatsHaveTheBitsThatTheyHaveOnOneSwitch) {
  constexpr std::size_t kCount = 700;
  constexpr std::size_t kFrom = 13;
  const auto value = [](std::uint32_t rank, std::size_t i) {
    return std::ldexp(static_cast<float>((i * 7919 + rank * 104729) % 1000003),
                      static_cast<int>((i + rank) % 40) - 20);
  };
  std::vector<std::vector<float>> sums;
  for (const bool several : {false, true}) {
    start(several ? 3 : 1, several ? 2 : 1);
    bits = [&](std::uint32_t) { return several ? kBits : AddressBits{}; };
    join_all();
    const auto data = arrays<float>(kFrom + kCount);
    for (const auto encoding : {wire::Encoding::plain, wire::Encoding::block_scaled})
      for (const auto exponent : {std::optional<std::int32_t>(), std::optional<std::int32_t>(12)}) {
        if (exponent && encoding == wire::Encoding::plain) continue;
        for (std::uint32_t r = 0; r < kRanks; ++r)
          for (std::size_t i = 0; i < kCount; ++i) data[r][kFrom + i] = value(r, i);
        all([&](Communicator& c, std::uint32_t r) {
          return c.allreduce(data[r] + kFrom, kCount, wire::DType::float32, wire::ReduceOp::sum,
                             encoding, exponent);
        });
        for (std::uint32_t r = 0; r < kRanks; ++r)
          sums.emplace_back(data[r] + kFrom, data[r] + kFrom + kCount);
      }
  }
  ASSERT_EQ(sums.size(), 2 * 3 * kRanks);
  for (std::size_t i = 0; i < sums.size() / 2; ++i)
    EXPECT_EQ(std::memcmp(sums[i].data(), sums[i + sums.size() / 2].data(), kCount * sizeof(float)),
              0)
        << i;
}

// Wherever one rank's memory lies instead: no rank gets a sum, and all are told of two.
TEST_F(ByAddressTestTimed, A3_RanksWhoseAddressesDifferAreBothNamedToAll) {
  constexpr std::size_t kCount = 48;
  for (const std::size_t shift : {1u, 16u, 32u, 64u, 96u})
    for (const auto collective : {wire::Collective::allreduce, wire::Collective::broadcast,
                                  wire::Collective::all_gather, wire::Collective::reduce_scatter})
      for (const bool scaled : {false, true}) {
        if (scaled && collective != wire::Collective::allreduce) continue;
        SCOPED_TRACE(std::string(wire::name_of(collective)) + " shifted by " +
                     std::to_string(shift));
        start(2);
        join_all();
        const auto data = arrays<std::int32_t>(1000);
        const auto output = arrays<std::int32_t>(1000);
        const auto errors = errors_of([&](Communicator& c, std::uint32_t r) {
          CollectiveCall call;
          call.collective = collective;
          call.data = data[r] + (r == 1 ? shift : 0);
          call.output = output[r] + (r == 1 ? shift : 0);
          call.count = collective == wire::Collective::reduce_scatter ? kCount / 3 : kCount;
          call.dtype = scaled ? wire::DType::float32 : wire::DType::int32;
          call.encoding = scaled ? wire::Encoding::block_scaled : wire::Encoding::plain;
          return c.start(call);
        });
        for (const std::string& error : errors)
          EXPECT_THAT(
              error, ::testing::AllOf(
                         HasSubstr("rank 1 sent"),
                         ::testing::AnyOf(HasSubstr("rank 0 sent"), HasSubstr("rank 2 sent")),
                         HasSubstr("in memory whose address ends in 0x"), HasSubstr("allocate()")));
      }
}

// Allocations in another order, at the same sizes.
TEST_F(ByAddressTestTimed, A3_RanksThatAllocateInAnotherOrderAreTold) {
  start(2);
  join_all();
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    owners.push_back(ranks[r]->allocate(64));
    if (r == 2) owners.push_back(ranks[r]->allocate(64));
  }
  const auto errors = errors_of([&](Communicator& c, std::uint32_t r) {
    return c.allreduce(owners[r == 2 ? 3 : r].get(), 16, wire::DType::int32, wire::ReduceOp::sum);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 2 sent 16 int32 in memory whose address ends in 0x80")));
}

TEST_F(ByAddressTestTimed, A3_ManyOpsInFlightUnderLossStayInOrder) {
  start(2);
  join_all();
  for (const auto& s : switches) s->lose(20'000);
  constexpr std::uint32_t kOps = 60;
  std::vector<std::vector<std::int32_t*>> data;
  std::vector<Request> requests;
  for (std::uint32_t i = 0; i < kOps; ++i) {
    const std::size_t count = 1 + i * 3;
    data.push_back(arrays<std::int32_t>(count));
    for (std::uint32_t r = 0; r < kRanks; ++r) {
      std::fill_n(data[i][r], count, static_cast<std::int32_t>(i + r));
      requests.push_back(
          ranks[r]->allreduce(data[i][r], count, wire::DType::int32, wire::ReduceOp::sum));
      if (i % 7 == 0) requests.push_back(ranks[r]->barrier_async());
    }
  }
  for (auto& q : requests) q.wait();
  for (std::uint32_t i = 0; i < kOps; ++i)
    for (std::uint32_t r = 0; r < kRanks; ++r)
      EXPECT_THAT(Ints(data[i][r], data[i][r] + 1 + i * 3),
                  Each(static_cast<std::int32_t>(3 * i + 3)));
  for (const auto& s : switches) s->lose(0);
}

TEST_F(ByAddressTestTimed, A3_OtherBitsOnOneRankAreNamedOnBothSides) {
  start(2);
  bits = [](std::uint32_t r) { return r == 1 ? AddressBits{} : kBits; };
  const std::string errors = join_all([this](std::uint32_t) { return list(); });
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), kRanks);
  EXPECT_THAT(errors,
              ::testing::AllOf(HasSubstr("different address bits"), HasSubstr("rank 1 has none"),
                               HasSubstr("has 2 from bit 7 on")));
}

TEST_F(ByAddressTestTimed, A3_BitsThatCannotChooseAreRefused) {
  start(2);
  const auto error_with = [this](const AddressBits& wrong, const std::string& address) {
    bits = [&wrong](std::uint32_t) { return wrong; };
    return join_all([&](std::uint32_t) { return address; });
  };
  EXPECT_THAT(error_with({5, 1}, list()), HasSubstr("smaller than the job's chunk_bytes, 64"));
  EXPECT_THAT(error_with({16, 0}, list()), HasSubstr("a count of 0 for 2 switches"));
  EXPECT_THAT(error_with({31, 1}, list()), HasSubstr("allowed: low up to 30"));
  EXPECT_THAT(error_with({16, 1}, switches[0]->address()), HasSubstr("one switch in the address"));
}

// Another rank's data in the rest of the op could not be told from this one's.
TEST_F(ByAddressTestTimed, A3_ResultsThatLackRanksAreExcluded) {
  const std::uint32_t job = worker::drawn_job_id();
  for (int i = 0; i < 2; ++i) {
    config::SwitchConfig config = one(job, 64);
    config.jobs[0].order = wire::Order::fast;
    config.jobs[0].stragglers.degraded_after = Duration::ms(100);
    switches.push_back(std::make_unique<TestSwitch>(config));
  }
  EXPECT_THAT(join_all([this](std::uint32_t) { return list(); }),
              HasSubstr("stragglers.degraded_after"));
}

}  // namespace
}  // namespace tributary
