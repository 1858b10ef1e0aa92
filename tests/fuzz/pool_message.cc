// Messages of the memory pool: what is decoded encodes to the same bytes, and lists are no longer
// than what came.
#include "pool/record/message.h"

#include <algorithm>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto bytes = fuzz::as_bytes(data, size);
  const auto whole = pool::frame_bytes(bytes);
  if (!whole || *whole == 0 || *whole > bytes.size()) return 0;
  const auto message = pool::decode(bytes.first(*whole));
  if (!message) return 0;
  const auto again = pool::encode(*message);
  FUZZ_CHECK(again.size() == *whole);
  FUZZ_CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
  return 0;
}
