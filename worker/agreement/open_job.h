// A job that its ranks bring to the switch (A4): what this rank says about it when it joins.
#pragma once

#include <cstdint>
#include <string>

namespace tributary {

// The ranks that bring task information to a switch that opens jobs.
enum class Open : std::uint8_t {
  never,      // the switch has the job
  with_join,  // each rank, with its own request
  control,    // the first unit of each node, once; the others wait for it
  wait,       // not this rank: it waits for one that does
};
// "inline", "control" or "wait"; empty: never. Throws std::invalid_argument for another.
Open open_of(const std::string& text);

// Equal on all ranks, but for `by`. Rank r is unit r % units of node r / units.
struct OpenOptions {
  Open by = Open::never;
  std::uint32_t units = 0;  // of a node; 0: size / nodes
  std::uint32_t nodes = 0;  // 0: size / units, or one where units are 0, too
  std::uint32_t window = 64;
  std::uint32_t chunk_bytes = 1024;
};

namespace worker {

struct SessionOptions;

// Puts what the options mean for its rank into a session's. Throws std::invalid_argument.
void take_open(const OpenOptions& open, SessionOptions& session);

}  // namespace worker
}  // namespace tributary
