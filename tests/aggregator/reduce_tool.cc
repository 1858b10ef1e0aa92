// Reduces what comes in on stdin, for tests that compare with other implementations:
//
//   reduce_tool DTYPE OP ARITHMETIC ISA COUNT SOURCES...
//
// The codes are numbers of the wire format and of the enums; stdin holds COUNT elements of each of
// so many sources as the largest SOURCES says. For each SOURCES, of so many of the first ones,
// stdout gets four results, and after each a byte that says whether anything was saturated:
//
//   open, and a fold for each of the others
//   fuse
//   open, and fold_all of the others
//   merge of the first half, rounded up, with the second; left out where there is one source
//
// each of them finished, for a mean with SOURCES as the divisor.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "aggregator/kernels/reduce.h"

namespace tributary::aggregator {
namespace {

using Bytes = std::vector<unsigned char>;

void put(const Bytes& bytes, bool saturated) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fputc(saturated ? 1 : 0, stdout);
}

// Folds some sources, one by one from left to right.
bool fold_each(const Kernels& k, Bytes& acc, std::span<const void* const> sources,
               std::size_t count) {
  k.open(acc.data(), sources[0], count);
  bool saturated = false;
  for (const void* const source : sources.subspan(1))
    saturated = k.fold(acc.data(), source, count) || saturated;
  return saturated;
}

void reduce_all_ways(const Kernels& k, std::span<const void* const> sources, std::size_t count) {
  Bytes acc(count * k.acc_bytes);
  Bytes out(count * k.wire_bytes);
  const auto finish = [&](bool saturated) {
    const auto divisor = static_cast<std::uint32_t>(sources.size());
    saturated = k.finish(out.data(), acc.data(), count, divisor) || saturated;
    put(out, saturated);
  };
  finish(fold_each(k, acc, sources, count));
  finish(k.fuse(acc.data(), sources.data(), sources.size(), count));

  const auto others = sources.subspan(1);
  k.open(acc.data(), sources[0], count);
  finish(k.fold_all(acc.data(), others.data(), others.size(), count));

  if (others.empty()) return;
  const std::size_t half = (sources.size() + 1) / 2;
  Bytes second(acc.size());
  bool saturated = fold_each(k, acc, sources.first(half), count);
  saturated = fold_each(k, second, sources.subspan(half), count) || saturated;
  finish(k.merge(acc.data(), second.data(), count) || saturated);
}

int run(std::span<const std::size_t> arguments) {
  const std::size_t count = arguments[4];
  const auto fan_ins = arguments.subspan(5);
  const Kernels* k = find_kernels(
      static_cast<wire::DType>(arguments[0]), static_cast<wire::ReduceOp>(arguments[1]),
      static_cast<Arithmetic>(arguments[2]), static_cast<Isa>(arguments[3]));
  if (k == nullptr || *std::min_element(fan_ins.begin(), fan_ins.end()) == 0) return 2;
  std::vector<Bytes> inputs(*std::max_element(fan_ins.begin(), fan_ins.end()),
                            Bytes(count * k->wire_bytes));
  std::vector<const void*> pointers;
  for (Bytes& input : inputs) {
    if (std::fread(input.data(), 1, input.size(), stdin) != input.size()) return 2;
    pointers.push_back(input.data());
  }
  for (const std::size_t sources : fan_ins)
    reduce_all_ways(*k, std::span(pointers).first(sources), count);
  return 0;
}

}  // namespace
}  // namespace tributary::aggregator

int main(int argc, char** argv) {
  std::vector<std::size_t> arguments;
  for (int i = 1; i < argc; ++i) arguments.push_back(std::strtoul(argv[i], nullptr, 10));
  if (arguments.size() < 6) return 2;
  return tributary::aggregator::run(arguments);
}
