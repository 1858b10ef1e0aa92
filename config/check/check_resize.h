// Constraints of jobs whose ranks choose how many they are (`min_workers`).
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

void check_resize(const JobConfig& job, const std::string& path, ReadContext& context);

}  // namespace tributary::config
