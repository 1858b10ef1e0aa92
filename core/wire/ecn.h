// Explicit congestion notification (RFC 3168) in frames of others.
#pragma once

#include <cstddef>
#include <span>

namespace tributary::wire {

// Says in the IP header of a frame, tagged or not, that it met a queue: "congestion experienced".
// False, and nothing is changed: it is no IP, cut short, or its sender does not listen (Not-ECT).
// `frame` may be the first piece of it.
bool mark_congestion(std::span<std::byte> frame);

}  // namespace tributary::wire
