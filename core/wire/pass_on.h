// Extensions of a packet that somebody passes on in another one.
#pragma once

#include <cstddef>
#include <span>

#include "core/wire/extension.h"

namespace tributary::wire {

// Adds what travels on of a checked area: not what is of one hop alone (padding, CRC32C). False
// when there is no room for all of it.
bool add_passed_on(ExtensionWriter& writer, std::span<const std::byte> area);

}  // namespace tributary::wire
