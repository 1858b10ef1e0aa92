// What operators do with the nodes of a pool, without a command line around it.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "pool/loader/node_link.h"
#include "pool/loader/pool_config.h"
#include "tools/client/control/table.h"

namespace tributary::client {

// Ids [first, first + count).
struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t count = ~std::uint64_t{0};
};

// One row a node: its answer to `ask`, or {"node", "state": why not}. `failed` counts the latter.
Json ask_nodes(const pool::PoolConfig& config, std::size_t& failed,
               const std::function<std::string(pool::NodeLink&)>& ask);

// A row of `status` as people read it: without what only programs want.
Json status_row(const Json& status);

// Scans the store and writes the manifest. Returns how many records there are.
std::uint64_t write_manifest(const pool::PoolConfig& config);

// Fills all nodes and waits, with a line of progress to `out` now and then. Returns the final
// statuses.
Json fill_nodes(const pool::PoolConfig& config, const IdRange& range, std::size_t& failed,
                std::ostream& out);

}  // namespace tributary::client
