// A model on disk: a head, the values, and a CRC32C over both. Little-endian, like the wire's
// elements.
//
//   offset  bytes
//        0      8  "TRIBMODL"
//        8      4  version, 1
//       12      4  job
//       16      8  step
//       24      4  optimizer: 1 sgd, 2 adam
//       28      4  planes: float32 values that each parameter takes
//       32      4  arrays
//       36      4  0
//       40    4 a  elements of each array, then 4 bytes of 0 if their number is odd
//           4 p e  the values, plane by plane, each with all elements
//               4  CRC32C of all before it
//
// The caller reads and writes the bytes (tools/psd). Nothing in them is used before it is checked.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "config/model/optimizer_config.h"

namespace tributary::completion {

struct Checkpoint {
  std::uint64_t step = 0;
  std::span<const std::byte> values;  // into the bytes that were read
};

// The bytes before the values.
std::vector<std::byte> checkpoint_head(std::uint32_t job, const config::OptimizerConfig& optimizer,
                                       std::uint64_t step);
// The size of the whole file.
std::uint64_t checkpoint_bytes(const config::OptimizerConfig& optimizer);
// The CRC after the values.
std::uint32_t checkpoint_crc(std::span<const std::byte> head, std::span<const std::byte> values);
// The checkpoint, or why these bytes are no checkpoint of this job's model.
std::variant<Checkpoint, std::string> read_checkpoint(std::span<const std::byte> bytes,
                                                      std::uint32_t job,
                                                      const config::OptimizerConfig& optimizer);

}  // namespace tributary::completion
