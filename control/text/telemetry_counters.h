// The counters of in-band telemetry, for `show telemetry` and the metrics.
#pragma once

#include <array>

#include "dataplane/telemetry/loop_telemetry.h"

namespace tributary::control {

struct TelemetryCounter {
  const char* column;  // of `show telemetry`
  const char* label;   // of the metric, `what`
  Counter dataplane::TelemetryCounters::*counter;
};

// Packets, by what happened to them.
inline constexpr std::array kTelemetryPackets = {
    TelemetryCounter{"sampled", "sampled", &dataplane::TelemetryCounters::sampled},
    TelemetryCounter{"inserted", "inserted", &dataplane::TelemetryCounters::inserted},
    TelemetryCounter{"hops_added", "hop-added", &dataplane::TelemetryCounters::hops_added},
    TelemetryCounter{"stripped", "stripped", &dataplane::TelemetryCounters::stripped},
    TelemetryCounter{"untrusted", "untrusted", &dataplane::TelemetryCounters::untrusted},
    TelemetryCounter{"malformed", "malformed", &dataplane::TelemetryCounters::malformed},
    TelemetryCounter{"no_space", "no-space", &dataplane::TelemetryCounters::no_space},
    TelemetryCounter{"unstripped", "unstripped", &dataplane::TelemetryCounters::unstripped},
    TelemetryCounter{"watched", "watched", &dataplane::TelemetryCounters::watched},
    TelemetryCounter{"traces", "trace", &dataplane::TelemetryCounters::traces},
    TelemetryCounter{"traces_full", "trace-full", &dataplane::TelemetryCounters::traces_full},
    TelemetryCounter{"traces_malformed", "trace-malformed",
                     &dataplane::TelemetryCounters::traces_malformed},
};

}  // namespace tributary::control
