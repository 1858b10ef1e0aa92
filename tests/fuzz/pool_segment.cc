// A node's memory after anything: random puts, removals, damage and restarts. Every record that a
// node finds is inside of the memory and overlaps no other; those that were not damaged are intact.
#include <map>
#include <vector>

#include "pool/segment/segment.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

constexpr std::size_t kMemory = 16 << 10;

void check(const std::map<std::uint64_t, pool::PlacedRecord>& by_offset) {
  std::uint64_t end = pool::kSuperblockBytes;
  for (const auto& [offset, record] : by_offset) {
    FUZZ_CHECK(offset >= end);
    end = offset + pool::footprint(record.length);
  }
  FUZZ_CHECK(end <= kMemory);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  fuzz::Input input(data, size);
  std::vector<std::byte> memory(fuzz::kMemory);
  for (int restart = 0; restart < 4 && !input.empty(); ++restart) {
    std::map<std::uint64_t, pool::PlacedRecord> records;
    pool::Segment segment(memory, {"p", "n", 1}, 7, [&](const pool::PlacedRecord& record) {
      records.emplace(record.offset, record);
      return true;
    });
    fuzz::check(records);
    bool damaged = false;
    for (int step = 0; step < 40 && !input.empty(); ++step) {
      const std::uint32_t what = input.below(8);
      if (what < 4) {
        if (const auto put = segment.put(input.u8(), input.block(input.below(2000))))
          records.emplace(put->offset, *put);
      } else if (what < 7 && !records.empty()) {
        auto at = records.begin();
        std::advance(at, input.below(static_cast<std::uint32_t>(records.size())));
        segment.release(segment.remove(at->second));
        records.erase(at);
      } else {
        memory[pool::kSuperblockBytes + input.below(fuzz::kMemory - pool::kSuperblockBytes)] ^=
            static_cast<std::byte>(1 + input.below(255));
        damaged = true;
      }
      fuzz::check(records);
    }
    if (!damaged)
      for (const auto& [_, record] : records) FUZZ_CHECK(segment.intact(record) || restart > 0);
  }
  return 0;
}
