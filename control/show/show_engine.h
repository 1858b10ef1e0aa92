// Rows of `show` about completion engines, wherever they are.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "completion/engine/engine.h"

namespace tributary::control {

// `row` holds what tells the engine apart.
nlohmann::ordered_json engine_row(const completion::JobCounters& counters,
                                  std::uint64_t bytes_limit, nlohmann::ordered_json row);
nlohmann::ordered_json chunk_row(const completion::ChunkStatus& chunk);

}  // namespace tributary::control
