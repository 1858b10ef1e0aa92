// One rank of an allreduce under measurement: takes commands, times allreduces, checks results.
//
// bench/allreduce starts such processes for each side (ours, Gloo), and lets the sides take
// turns. Commands come line by line from a FIFO, so that ranks sleep while others are measured:
//   run ALGORITHM BYTES ITERATIONS SALT   ->  stdout: ran 0|1 NANOSECONDS...
//   quit
// 1 means that every element of every iteration was right. An iteration is: fill, barrier, timed
// allreduce, barrier, check; the barriers keep one rank's filling and checking out of another's
// time. Values are small integers, so that float32 sums are exact in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace tributary::bench {

struct RankOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;
  std::string commands;                      // path of the FIFO
  std::map<std::string, std::string> other;  // what only one side understands
};
// --rank N --size N --commands PATH, and any --NAME VALUE that `known` lists, all required.
RankOptions parse_rank_options(int argc, char** argv, std::span<const char* const> known);

class RankSide {
 public:
  virtual ~RankSide() = default;
  RankSide() = default;
  RankSide(const RankSide&) = delete;
  RankSide& operator=(const RankSide&) = delete;

  virtual void barrier() = 0;
  // Returns a function that does one sum in place. Called once for an algorithm and array, on all
  // ranks in the same order; `data` outlives the side's use of it. Throws std::invalid_argument.
  virtual std::function<void()> prepare(const std::string& algorithm, std::span<float> data) = 0;
};

// Prints "ready", then serves commands until quit or end of file. Returns the exit status.
int serve(const RankOptions& options, RankSide& side);

}  // namespace tributary::bench
