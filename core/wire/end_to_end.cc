#include "core/wire/end_to_end.h"

#include "core/wire/extension.h"

namespace tributary::wire {

bool is_end_to_end(std::span<const std::byte> area) {
  while (const auto ext = next_extension(area))
    if (ext->type != ExtensionType::crc32c && ext->type != ExtensionType::padding) return false;
  return true;
}

}  // namespace tributary::wire
