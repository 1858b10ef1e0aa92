#include "core/wire/pass_on.h"

namespace tributary::wire {

bool add_passed_on(ExtensionWriter& writer, std::span<const std::byte> area) {
  while (const auto extension = next_extension(area)) {
    if (extension->type == ExtensionType::padding || extension->type == ExtensionType::crc32c)
      continue;
    const auto type = static_cast<unsigned>(extension->type) |
                      (extension->critical ? unsigned{kCriticalBit} : 0u);
    if (!writer.add_raw(static_cast<std::uint8_t>(type), extension->inline_value, extension->data))
      return false;
  }
  return true;
}

}  // namespace tributary::wire
