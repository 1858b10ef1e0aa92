// Metrics of egress ports, jobs' ops, paths and the history.
#pragma once

#include "control/metrics/metric_family.h"
#include "telemetry/table/record_table.h"
#include "tools/telemetryd/history.h"
#include "tools/telemetryd/path_watch.h"

namespace tributary::telemetryd {

// Utilisation and queue are those of ports that were reported within PathWatch::kFresh.
void add_ports(control::Families& out, const telemetry::RecordTable& table, Instant now);
void add_ops(control::Families& out, const telemetry::OpTable& table);
void add_paths(control::Families& out, const PathWatch& paths);
void add_history(control::Families& out, const HistoryCounters& counters);

}  // namespace tributary::telemetryd
