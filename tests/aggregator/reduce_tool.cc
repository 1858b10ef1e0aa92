// Reduces what comes in on stdin, for tests that compare with other implementations:
//
//   reduce_tool DTYPE OP ARITHMETIC ISA SOURCES COUNT
//
// The codes are numbers of the wire format and of the enums; stdin holds SOURCES × COUNT elements.
// stdout gets the result of open, folds and finish, that of fuse and finish, and a byte each that
// says whether anything was saturated.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "aggregator/reduce.h"

namespace tributary::aggregator {
namespace {

using Bytes = std::vector<unsigned char>;

void put(const Bytes& bytes, bool saturated) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fputc(saturated ? 1 : 0, stdout);
}

int run(const std::vector<std::size_t>& arguments) {
  const std::size_t sources = arguments[4];
  const std::size_t count = arguments[5];
  const Kernels* k = find_kernels(
      static_cast<wire::DType>(arguments[0]), static_cast<wire::ReduceOp>(arguments[1]),
      static_cast<Arithmetic>(arguments[2]), static_cast<Isa>(arguments[3]));
  if (k == nullptr || sources == 0) return 2;
  std::vector<Bytes> inputs(sources, Bytes(count * k->wire_bytes));
  std::vector<const void*> pointers;
  for (Bytes& input : inputs) {
    if (std::fread(input.data(), 1, input.size(), stdin) != input.size()) return 2;
    pointers.push_back(input.data());
  }
  const auto divisor = static_cast<std::uint32_t>(sources);
  Bytes acc(count * k->acc_bytes);
  Bytes out(count * k->wire_bytes);

  k->open(acc.data(), pointers[0], count);
  bool saturated = false;
  for (std::size_t s = 1; s < sources; ++s)
    saturated = k->fold(acc.data(), pointers[s], count) || saturated;
  saturated = k->finish(out.data(), acc.data(), count, divisor) || saturated;
  put(out, saturated);

  saturated = k->fuse(acc.data(), pointers.data(), sources, count);
  saturated = k->finish(out.data(), acc.data(), count, divisor) || saturated;
  put(out, saturated);
  return 0;
}

}  // namespace
}  // namespace tributary::aggregator

int main(int argc, char** argv) {
  std::vector<std::size_t> arguments;
  for (int i = 1; i < argc; ++i) arguments.push_back(std::strtoul(argv[i], nullptr, 10));
  if (arguments.size() != 6) return 2;
  return tributary::aggregator::run(arguments);
}
