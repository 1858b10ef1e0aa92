// `tributary topology`: the cluster as its manager sees it.
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/manager/manager_library.h"
#include "tools/client/manager/manager_options.h"
#include "tools/client/manager/topology_text.h"

namespace tributary::client {

void add_topology(cli::App& app) {
  cli::App* const command =
      app.add_subcommand("topology", "Switches and workers of a cluster, as its manager sees them");
  const auto options = std::make_shared<ManagerOptions>();
  add_manager_options(*command, *options);
  command->callback([options] {
    const Json reply = call_manager(options->target, "Cluster.Topology", Json::object());
    if (options->json)
      std::cout << reply.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    else
      std::cout << topology_text(reply);
  });
}

}  // namespace tributary::client
