// The engine's promises on random traffic (protocol rules 5 and 7): aggregates that overlap,
// singles, duplicates, reordering and loss never make a wrong sum; what is missing is named, and
// sending just that always completes the chunk. And with memory for one chunk, everything still
// ends.
#include <algorithm>
#include <numeric>

#include "core/prng.h"
#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using wire::PacketType;

class ExactlyOnceTest : public CompletionTest {
 protected:
  static std::int32_t value(std::uint32_t rank, std::uint32_t seq) {
    return static_cast<std::int32_t>((rank * 2654435761u + seq * 40503u) % 100'000);
  }
  std::vector<std::int32_t> sum_of(const Ranks& ranks, std::uint32_t seq) const {
    std::int32_t sum = 0;
    for (const std::uint32_t r : ranks) sum += value(r, seq);
    return {sum, -sum, 1};
  }
  Ranks everyone() const {
    Ranks all(limits_.workers);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  void shuffle(auto& items, Prng& prng) const {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[prng.below(static_cast<std::uint32_t>(i))]);
  }
  // Cuts the membership at random into groups, singles among them.
  std::vector<Ranks> partition(Prng& prng) const {
    Ranks all = everyone();
    shuffle(all, prng);
    std::vector<Ranks> groups;
    const std::uint32_t largest = 1 + prng.below(limits_.workers);
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t n = std::min<std::size_t>(1 + prng.below(largest), all.size() - at);
      groups.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                          all.begin() + static_cast<std::ptrdiff_t>(at + n));
      at += n;
    }
    return groups;
  }
  Decision send(const Ranks& group, std::uint32_t seq) {
    // The payload of one element is that of a rank that counts 1.
    auto values = sum_of(group, seq);
    values[2] = static_cast<std::int32_t>(group.size());
    return group.size() == 1 ? single(group[0], seq, values, wire::kFlagResend)
                             : aggregate(group, seq, values);
  }
  void expect_exact(const Sent& result, std::uint32_t seq) const {
    ASSERT_EQ(result.header.type, PacketType::result);
    auto expected = sum_of(everyone(), seq);
    expected[2] = static_cast<std::int32_t>(limits_.workers);
    EXPECT_EQ(result.elements<std::int32_t>(), expected);
    EXPECT_EQ(result.header.covered, limits_.workers);
  }
  // Which ranks the engine lacks, asking each; its lists agree with its answers.
  Ranks missing(std::uint32_t seq) {
    Ranks unknown;
    std::vector<Ranks> lists;
    for (const std::uint32_t rank : everyone()) {
      probe(rank, seq);
      EXPECT_EQ(sent_.at(0).header.origin, rank);
      if (sent_[0].header.type == PacketType::unknown) {
        unknown.push_back(rank);
      } else {
        EXPECT_EQ(sent_[0].header.type, PacketType::pending);
        lists.push_back(sent_[0].missing());
      }
    }
    for (const Ranks& list : lists) EXPECT_EQ(list, unknown);
    return unknown;
  }
};

TEST_F(ExactlyOnceTest, AnyTrafficGivesTheExactSumOrNamesWhatIsMissing) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    build(1 + prng.below(seed % 50 == 0 ? 200 : 12), 4);
    for (std::uint32_t seq = 0; seq < 3; ++seq) {
      std::vector<Ranks> traffic;
      for (std::uint32_t n = 1 + prng.below(4); n > 0; --n)
        for (const Ranks& group : partition(prng))
          for (std::uint32_t copies = prng.below(3); copies > 0; --copies) traffic.push_back(group);
      shuffle(traffic, prng);
      int results = 0;
      Ranks last_asked;
      for (const Ranks& group : traffic) {
        const Decision d = send(group, seq);
        if (d.verdict == Verdict::completed) {
          ASSERT_EQ(++results, 1);
          expect_exact(sent_.back(), seq);
          engine_->result_accepted(7, 0, seq);
          continue;
        }
        // A rank that is asked for its data is indeed not covered.
        last_asked = asked();
        if (!last_asked.empty()) {
          const Ranks lacking = missing(seq);
          for (const std::uint32_t rank : last_asked)
            EXPECT_NE(std::find(lacking.begin(), lacking.end(), rank), lacking.end()) << rank;
        }
      }
      if (results == 0) {
        const Ranks lacking = missing(seq);
        ASSERT_FALSE(lacking.empty());
        for (const std::uint32_t rank : lacking) {
          const Decision d = send({rank}, seq);
          ASSERT_EQ(d.verdict, rank == lacking.back() ? Verdict::completed : Verdict::held);
        }
        expect_exact(sent_.back(), seq);
        engine_->result_accepted(7, 0, seq);
      }
      ASSERT_EQ(counters().bytes_held.get(), 0u);
    }
  }
}

// 100 % of chunks escalated, memory for the least possible, workers that run ahead of each other in
// their windows: every chunk is finished, and memory stays within its bounds.
TEST_F(ExactlyOnceTest, TheLeastMemoryFinishesEverything) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng prng(seed);
    JobLimits limits = test_limits(2 + prng.below(6), 8);
    limits.bytes = least_bytes(limits) + prng.below(3) * 64;
    build(limits, 0xFFFFFFF0u);
    constexpr std::uint32_t kChunks = 64;
    std::vector<bool> done(kChunks);
    std::uint32_t low = 0;  // all before it are done
    std::uint32_t steps = 0;
    for (; low < kChunks; ++steps) {
      ASSERT_LT(steps, 200'000u);
      const std::uint32_t rank = prng.below(limits.workers);
      const std::uint32_t chunk = low + prng.below(limits.window);
      if (chunk >= kChunks || done[chunk]) continue;
      const std::uint32_t seq = first_seq_ + chunk;
      probe(rank, seq);
      if (sent_.at(0).header.type == PacketType::pending) continue;
      ASSERT_EQ(sent_[0].header.type, PacketType::unknown);
      const Decision d = send({rank}, seq);
      ASSERT_LE(counters().bytes_held.get(), limits.bytes);
      if (d.verdict != Verdict::completed) continue;
      expect_exact(sent_.at(0), seq);
      engine_->result_accepted(7, 0, seq);
      done[chunk] = true;
      while (low < kChunks && done[low]) ++low;
    }
    EXPECT_EQ(counters().completions(), kChunks);
    EXPECT_GT(counters().refused_full.get() + counters().given_up.get(), 0u);
  }
}

}  // namespace
}  // namespace tributary::completion
