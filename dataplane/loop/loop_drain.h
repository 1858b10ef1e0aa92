// Drains jobs on all packet loops (docs/protocol/drains.md): their epochs end after an op that all
// ranks finish.
#pragma once

#include <cstdint>
#include <vector>

#include "core/time.h"
#include "dataplane/loop/packet_loops.h"

namespace tributary::dataplane {

// On a control thread. No epoch of these jobs begins until release_jobs(), or, where they are held
// for a change, until they change. Returns those whose epochs still run after `at_most`
// (Engine::draining()). Throws when a loop does not answer within `patience`; then nothing is held.
std::vector<std::uint32_t> drain_jobs(PacketLoops& packet_loops,
                                      const std::vector<std::uint32_t>& jobs, aggregator::Holder by,
                                      Duration at_most, Duration patience);
void release_jobs(PacketLoops& packet_loops, const std::vector<std::uint32_t>& jobs,
                  aggregator::Holder by, Duration patience);

}  // namespace tributary::dataplane
