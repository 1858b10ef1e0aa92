// The INT area of a frame.
#pragma once

#include <cstddef>
#include <span>

#include "telemetry/wire/int_md.h"

namespace tributary::telemetry {

// Finds and checks the frame's UDP and its INT area, which is of the kind that the mark says;
// absent: the frame has no mark.
Outcome find_int(std::span<const std::byte> frame, const Marking& marking, UdpPlace& place,
                 IntView& view);

}  // namespace tributary::telemetry
