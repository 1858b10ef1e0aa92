// Keys about in-band telemetry, of a switch and of a job (C5, C6).
#pragma once

#include "config/model/telemetry.h"
#include "config/text/field.h"

namespace tributary::config {

// So that the telemetry server hears of each link several times a second.
inline constexpr Duration kMostProbePause = Duration::ms(250);

// The keys below `switch.telemetry`.
const Fields<TelemetryConfig>& telemetry_fields();
// The keys below `jobs[].telemetry`.
const Fields<JobTelemetry>& job_telemetry_fields();

}  // namespace tributary::config
