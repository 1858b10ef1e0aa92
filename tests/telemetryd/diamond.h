// A network file with two ways between L and R, by A and by B; and what is decided of its paths.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/telemetryd/path_watch.h"

namespace tributary::telemetryd {

inline constexpr const char* kDiamond =
    "nodes:\n"
    "  - {name: L, id: 1, reports_from: 127.0.0.1, control: /run/L.sock}\n"
    "  - {name: A, id: 2, reports_from: 127.0.0.1, control: /run/A.sock}\n"
    "  - {name: B, id: 3, reports_from: 127.0.0.1, control: /run/B.sock}\n"
    "  - {name: R, id: 4, reports_from: 127.0.0.1, control: /run/R.sock}\n"
    "  - {name: work}\n"
    "links:\n"
    "  - {from: L, port: 1, to: A, port_there: 0}\n"
    "  - {from: L, port: 2, to: B, port_there: 0}\n"
    "  - {from: A, port: 1, to: R, port_there: 0}\n"
    "  - {from: B, port: 1, to: R, port_there: 1}\n"
    "  - {from: R, port: 2, to: work, port_there: 0}\n"
    "trees:\n"
    "  - {switch: R, to: L, uplinks: [{name: a, port: 0}, {name: b, port: 1}]}\n";

inline std::string with(const std::string& from, const std::string& to) {
  std::string text = kDiamond;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

inline std::vector<PathWatch::Decision> decisions_by(PathWatch& watch,
                                                     const telemetry::RecordTable& table,
                                                     Instant now) {
  watch.refresh(table, now);
  return watch.decide(now);
}

}  // namespace tributary::telemetryd
