// The life of one chunk at a switch; see chunk_table.h for what moves it on.
#pragma once

#include <cstdint>

namespace tributary::aggregator {

enum class ChunkState : std::uint8_t { unseen, open, complete, released };

}  // namespace tributary::aggregator
