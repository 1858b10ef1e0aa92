// `tributary forget-term`: a switch's way out of documents with too high a term.
#include <iostream>
#include <memory>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {

void add_forget_term(cli::App& app) {
  auto socket = std::make_shared<std::string>(kDefaultSocket);
  cli::App* const command = app.add_subcommand(
      "forget-term", "Have a switch take its manager's next document, of any term");
  command->add_option("--socket", *socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "A document with too high a term keeps all later ones out. What is in force stays.\n"
      "Example:\n  tributary forget-term");
  command->callback([socket] {
    ask_switch(*socket, {{"command", "assign"}, {"forget_term", true}});
    std::cout << "the manager's term is forgotten; what is in force stays\n";
  });
}

}  // namespace tributary::client
