// Asks a switch over UDP whether it is there and knows a job, without joining it.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"
#include "core/wire/types.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

struct ProbeAnswer {
  bool answered = false;
  bool port_closed = false;  // the address is another host's, which refused the datagram
  wire::Reason reason = wire::Reason::none;  // of the NACK; none: another answer
};

// Sends a PROBE of epoch 0, which no epoch has, up to three times; waits `patience` for each. Never
// throws: what can't be sent is not answered.
ProbeAnswer probe_switch(std::uint32_t ipv4, std::uint16_t port, std::uint32_t job,
                         Duration patience = Duration::ms(300));

// `address` as the user wrote it.
Finding judge(const ProbeAnswer& answer, const std::string& address, std::uint32_t job);

}  // namespace tributary::client
