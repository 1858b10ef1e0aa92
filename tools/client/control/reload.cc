// `tributary reload`: a running switch reads its configuration anew.
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {
namespace {

// The switch answers when the change is in force.
constexpr Duration kPatience = Duration::seconds(90);

}  // namespace

void add_reload(cli::App& app) {
  auto socket = std::make_shared<std::string>(kDefaultSocket);
  cli::App* command =
      app.add_subcommand("reload", "Make a running switch read its configuration anew");
  command->add_option("--socket", *socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "Jobs that are the same go on. The ranks of those that changed finish the ops that have "
      "begun,\n"
      "for at most 10 s, and go on under the new configuration.\n"
      "A file with a mistake, or that changes more than a running switch can, changes nothing.\n"
      "The file is what counts: what `tributary set` had changed is dropped, by name.\n"
      "Examples:\n"
      "  tributary reload\n"
      "  tributary reload --socket /run/tributary/leaf1.sock");
  command->callback([socket] {
    const Json data = ask_switch(*socket, Json{{"command", "reload"}}, kPatience);
    std::cout << data.get<std::string>() << '\n';
  });
}

}  // namespace tributary::client
