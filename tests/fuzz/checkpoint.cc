// Checkpoints of a model: from any bytes at most what was written comes out, and a file that is
// made of them can be read and is the same. The first byte chooses the model that is expected.
#include "completion/model/checkpoint.h"

#include <cstring>

#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using completion::Checkpoint;

config::OptimizerConfig expected(std::uint8_t choice) {
  config::OptimizerConfig o;
  o.kind = (choice & 1) != 0 ? config::OptimizerKind::adam : config::OptimizerKind::sgd;
  o.momentum = (choice & 2) != 0 ? 0.5 : 0;
  o.parameters.assign(1 + (choice >> 2 & 3), 1 + (choice >> 4));
  return o;
}

void check(std::span<const std::byte> file, const config::OptimizerConfig& optimizer) {
  const auto read = completion::read_checkpoint(file, 7, optimizer);
  if (const auto* why = std::get_if<std::string>(&read)) return FUZZ_CHECK(!why->empty());
  const auto& good = std::get<Checkpoint>(read);
  auto again = completion::checkpoint_head(7, optimizer, good.step);
  const std::uint32_t crc = completion::checkpoint_crc(again, good.values);
  again.insert(again.end(), good.values.begin(), good.values.end());
  const auto tail = std::as_bytes(std::span(&crc, 1));
  again.insert(again.end(), tail.begin(), tail.end());
  FUZZ_CHECK(again.size() == completion::checkpoint_bytes(optimizer));
  FUZZ_CHECK(std::equal(again.begin(), again.end(), file.begin(), file.end()));
}

// A fuzzer does not guess checksums: the same bytes with the right one.
void check_repaired(std::span<const std::byte> file, const config::OptimizerConfig& optimizer) {
  if (file.size() < sizeof(std::uint32_t)) return;
  std::vector<std::byte> copy(file.begin(), file.end());
  const auto body = std::span(copy).first(copy.size() - sizeof(std::uint32_t));
  const std::uint32_t crc = completion::checkpoint_crc(body, {});
  std::memcpy(copy.data() + body.size(), &crc, sizeof crc);
  check(copy, optimizer);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  if (size == 0) return 0;
  const auto optimizer = fuzz::expected(data[0]);
  const auto file = fuzz::as_bytes(data + 1, size - 1);
  fuzz::check(file, optimizer);
  fuzz::check_repaired(file, optimizer);
  return 0;
}
