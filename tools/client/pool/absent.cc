// `tributary pool` of a build without the memory pool: says so.
#include <stdexcept>

#include "tools/client/commands.h"

namespace tributary::client {

void add_pool(cli::App& app, int& exit_status) {
  static_cast<void>(exit_status);
  cli::App* const pool = app.add_subcommand("pool", "Not in this build");
  pool->allow_extras();
  pool->callback([] {
    throw std::runtime_error("pool: this build has no memory pool; build with the option `pool`");
  });
}

}  // namespace tributary::client
