// Memory that the kernel has given before it is used.
//
// The kernel allocates mapped pages one by one, each at its first use. A packet loop that meets new
// pages waits for the kernel at each of them, several times as long as the packet takes.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::dataplane {

// Has the kernel give every page that `memory` lies on, where the calling thread's memory policy
// says; contents stay. No other thread may write to it meanwhile. False: too few pages are left.
[[nodiscard]] bool prefault(std::span<std::byte> memory);

}  // namespace tributary::dataplane
