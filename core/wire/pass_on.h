// Extensions of a packet that is passed on inside another packet.
#pragma once

#include <cstddef>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// Adds the extensions of a checked area that travel on, without those of one hop (padding, CRC32C).
// Returns false when there is no room for all of them.
bool add_passed_on(ExtensionWriter& writer, std::span<const std::byte> area);

}  // namespace tributary::wire
