// Reduction kernels: for every type, op and arithmetic, every instruction set gives the portable
// one's bits in every function, fusing gives the bits of folding one by one, and nothing is
// written beyond the elements, at any alignment.
#include <algorithm>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using aggregator::Arithmetic;
using aggregator::Kernels;
using wire::DType;
using wire::ReduceOp;
using Bytes = std::vector<std::byte>;

constexpr std::byte kGuard{0xA5};
constexpr std::size_t kGuardBytes = 64;

// `count` bytes at an offset, with guards around them.
class Block {
 public:
  Block(std::size_t count, std::size_t offset)
      : bytes_(offset + count + kGuardBytes, kGuard), offset_(offset), count_(count) {}

  [[nodiscard]] std::byte* data() { return bytes_.data() + offset_; }
  // Checks the guards.
  [[nodiscard]] Bytes contents() const {
    const auto at = bytes_.begin() + static_cast<std::ptrdiff_t>(offset_);
    const auto end = at + static_cast<std::ptrdiff_t>(count_);
    const auto intact = [](std::byte b) { return b == kGuard; };
    FUZZ_CHECK(std::all_of(bytes_.begin(), at, intact));
    FUZZ_CHECK(std::all_of(end, bytes_.end(), intact));
    return {at, end};
  }

 private:
  Bytes bytes_;
  std::size_t offset_;
  std::size_t count_;
};

struct Case {
  std::size_t count = 0;
  std::uint32_t divisor = 1;
  std::size_t offset = 0;
  std::vector<Bytes> sources;
};

// Everything a set of kernels does with one case, in the order it is compared.
std::vector<Bytes> results(const Kernels& k, const Case& c) {
  std::vector<Block> sources;
  std::vector<const void*> pointers;
  for (const Bytes& s : c.sources) {
    Block& block = sources.emplace_back(s.size(), c.offset / 2 + sources.size());
    std::copy(s.begin(), s.end(), block.data());
  }
  for (Block& s : sources) pointers.push_back(s.data());
  const std::size_t acc_bytes = c.count * k.acc_bytes;
  Block folded(acc_bytes, c.offset);
  k.open(folded.data(), pointers[0], c.count);
  std::vector<Bytes> out{folded.contents()};
  bool overflow = false;
  for (std::size_t i = 1; i < pointers.size(); ++i)
    overflow = k.fold(folded.data(), pointers[i], c.count) || overflow;
  out.push_back(folded.contents());
  Block fused(acc_bytes, c.offset);
  const bool fused_overflow = k.fuse(fused.data(), pointers.data(), pointers.size(), c.count);
  FUZZ_CHECK(fused.contents() == out.back() && fused_overflow == overflow);
  Block all(acc_bytes, c.offset + 1);
  k.open(all.data(), pointers[0], c.count);
  const bool all_overflow = pointers.size() > 1 && k.fold_all(all.data(), pointers.data() + 1,
                                                              pointers.size() - 1, c.count);
  FUZZ_CHECK(all.contents() == out.back() && all_overflow == overflow);
  const bool merged = k.merge(folded.data(), fused.data(), c.count);
  out.push_back(folded.contents());
  Block narrow(c.count * k.wire_bytes, c.offset + 1);
  const bool finished = k.finish(narrow.data(), folded.data(), c.count, c.divisor);
  out.push_back(narrow.contents());
  out.push_back({std::byte{overflow}, std::byte{merged}, std::byte{finished}});
  // In place, narrow elements at the front.
  k.finish(folded.data(), folded.data(), c.count, c.divisor);
  const Bytes in_place = folded.contents();
  FUZZ_CHECK(std::equal(out[3].begin(), out[3].end(), in_place.begin()));
  if (k.finish_is_identity) FUZZ_CHECK(out[3] == out[2]);
  return out;
}

void check(Input& in) {
  const auto dtype = static_cast<DType>(in.below(wire::kDTypeMax + 1));
  const auto op = static_cast<ReduceOp>(in.between(1, wire::kReduceOpMax));
  const Arithmetic arithmetic = in.flag() ? Arithmetic::modular : Arithmetic::saturating;
  const Kernels* portable = find_kernels(dtype, op, arithmetic, Isa::portable);
  Case c;
  c.count = in.below(400);
  c.divisor = in.between(1, 9);
  c.offset = in.below(64);
  const std::size_t sources = in.between(1, 5);
  const std::size_t skip = in.between(1, 31);
  const auto pattern = in.bytes(1024);
  for (std::size_t s = 0; s < sources && !pattern.empty(); ++s) {
    Bytes& source = c.sources.emplace_back(c.count * wire::size_of(dtype));
    for (std::size_t i = 0; i < source.size(); ++i)
      source[i] = pattern[(i + s * skip) % pattern.size()];
  }
  if (c.sources.empty()) return;
  std::vector<Bytes> expected;
  if (portable != nullptr) expected = results(*portable, c);
  for (const Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    const Kernels* k = find_kernels(dtype, op, arithmetic, isa);
    FUZZ_CHECK((k == nullptr) == (portable == nullptr));
    if (k == nullptr) continue;
    FUZZ_CHECK(k->wire_bytes == wire::size_of(dtype) && k->acc_bytes == portable->acc_bytes);
    FUZZ_CHECK(results(*k, c) == expected);
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::check(in);
  return 0;
}
