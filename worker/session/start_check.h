// Checks whether this library can run a job as START announces it.
#pragma once

#include <string>

#include "core/wire/extension.h"
#include "worker/session/session_options.h"

namespace tributary::worker {

// Returns what this rank cannot accept, as the end of a sentence; empty if it accepts all.
// `fragments`: the switch reassembles datagrams that the path fragments.
std::string object_to_start(const wire::StartInfo& info, bool fragments,
                            const SessionOptions& options);

}  // namespace tributary::worker
