// Checks a communicator's calls; invalid ones are refused before anything is sent.
#pragma once

#include <cstdint>

#include "worker/api/communicator.h"

namespace tributary::worker {

// Throws std::invalid_argument with the mistake and the allowed values. `partials` and `arithmetic`
// are the job's.
void check_call(const CollectiveCall& call, std::uint32_t ranks,
                wire::Partials partials = wire::Partials::wide,
                wire::Arithmetic arithmetic = wire::Arithmetic::saturating);

}  // namespace tributary::worker
