// Output of `tributary bench`: nccl-tests' table, stages, JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/client/collective/bench.h"
#include "tools/client/control/table.h"

namespace tributary::client {

// Lines that begin with '#': the job, the columns and their units.
std::string bench_heading(const BenchOptions& options);
std::string bench_line(const BenchOptions& options, const BenchRow& row);
// Where the time of the progress thread went, a line that begins with '#' for each place of the
// data.
std::string stage_lines(const BenchOptions& options, const BenchRow& row);
// Wrong elements, the average bus bandwidth, and what that is where the switch makes the sum.
std::string bench_footer(const BenchOptions& options, const std::vector<BenchRow>& rows);
// Figures of `in_place`, or of `out_of_place` where that is all there is, stand in the row itself,
// too.
Json bench_json(const BenchOptions& options, const std::vector<BenchRow>& rows);

std::uint64_t wrong_elements(const std::vector<BenchRow>& rows);

}  // namespace tributary::client
