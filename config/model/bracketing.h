// The order and brackets in which a reproducible job's contributions are combined (T15): [[0, 1,
// 2], [3, 4]] is ((0 + 1) + 2) + (3 + 4). Items of a bracket are combined from left to right; an
// item is a rank or another bracket.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

// As in a configuration file: [[0, 1], 2].
std::string format_bracket(const Bracket& bracket);
// All ranks from left to right.
std::vector<std::uint32_t> ranks_of(const Bracket& bracket);
// The bracket, or rank, of exactly these ascending ranks; nullptr if there is none.
const Bracket* find_bracket(const Bracket& order, const std::vector<std::uint32_t>& ranks);
// The first mistake for a job with this number of workers; nullopt if there is none.
std::optional<std::string> bracketing_problem(const Bracket& bracket, std::uint32_t workers);

// The key `bracketing`.
Field<JobConfig> bracketing_field(const std::string& name, const std::string& meaning);

}  // namespace tributary::config
