// Checks of jobs whose ranks may come by RDMA: ports, the path MTU, and ways of notifying.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// The path MTU that RDMA has on a link with this MTU, as Linux's rxe chooses it: a power of two
// from 256 to 4096 that fits with all headers. 0: none fits.
std::uint32_t rdma_mtu(std::uint32_t mtu);

// The largest SEND of a job: what leads the payload, the aggregation header, extensions and data.
std::size_t rdma_message_bytes(const JobConfig& job);

void check_rdma(const SwitchConfig& config, ReadContext& context);

}  // namespace tributary::config
