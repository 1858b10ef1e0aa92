// A summary as a picture: how op times and slot-hold times are distributed, and what each link
// carried beside a ring allreduce. Runs of growing size as another: time and bytes over workers.
#pragma once

#include <string>
#include <vector>

#include "tools/sim/summary.h"

namespace tributary::simtool {

std::string plot(const Summary& summary);
std::string plot_scaling(const std::vector<Summary>& runs);

}  // namespace tributary::simtool
