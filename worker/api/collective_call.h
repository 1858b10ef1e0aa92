// Which calls of a communicator make sense; the others are refused before anything is sent.
#pragma once

#include <cstdint>

#include "worker/api/communicator.h"

namespace tributary::worker {

// Throws std::invalid_argument: what is wrong, and what is allowed. `partials` and
// `arithmetic` are the job's.
void check_call(const CollectiveCall& call, std::uint32_t ranks,
                wire::Partials partials = wire::Partials::wide,
                wire::Arithmetic arithmetic = wire::Arithmetic::saturating);

}  // namespace tributary::worker
