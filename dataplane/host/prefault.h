// Memory that the kernel has given before it is used.
//
// What it maps it gives page by page, each at its first use; a packet loop that meets new pages
// waits for the kernel at each of them, which takes several times as long as the packet does.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::dataplane {

// Has the kernel give every page that `memory` lies on, where the calling thread's memory policy
// says; contents stay. Nobody else writes to it meanwhile. False: the kernel has not got so many.
[[nodiscard]] bool prefault(std::span<std::byte> memory);

}  // namespace tributary::dataplane
