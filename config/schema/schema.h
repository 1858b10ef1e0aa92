// The keys of a switch's configuration file, as one table. docs/configuration.md is checked
// against it.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

inline constexpr std::size_t kMaxJobs = 256;
inline constexpr std::size_t kMaxStaticMacs = 1024;
inline constexpr std::uint8_t kMostTelemetryHops = 16;
inline constexpr std::size_t kMaxCompletionHosts = 16;
inline constexpr std::uint32_t kMaxHops = 257;  // through every switch of a tree
inline constexpr std::uint32_t kMaxLinkCost = 1'000'000;
inline constexpr std::uint32_t kMaxPathCost = kMaxLinkCost * kMaxHops;
// Several heartbeats of a parameter server (100 ms).
inline constexpr Duration kMinHostLease = Duration::ms(300);
inline constexpr std::uint32_t kMinMtu = 256;  // the largest control packet's minimum
inline constexpr std::uint32_t kMaxMtu = 9216;
// Protocol rule 13: ten retransmission timers (20 ms) for a loss to be repaired.
inline constexpr Duration kMinDeadline = Duration::ms(200);
// Three JOIN repetitions (100 ms): a rank that is alive must not lapse while a job forms.
inline constexpr Duration kMinLease = Duration::ms(300);

const Fields<SwitchConfig>& schema();
// The keys below `switch` and below `jobs[]`: a topology has them for each of its nodes.
const Fields<SwitchConfig>& switch_schema();
const Fields<JobConfig>& job_schema();
// Every key in file order.
std::vector<KeyInfo> describe_schema();

}  // namespace tributary::config
