// `tributary events`: what happened in a running switch, and when.
#include <iostream>
#include <memory>
#include <string>

#include "config/text/codec.h"
#include "core/log_level.h"
#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/table.h"
#include "tools/program/standard_output.h"

namespace tributary::client {
namespace {

struct EventOptions {
  std::string socket = kDefaultSocket;
  std::string least = "info";
  Duration since;  // none: everything that the switch still has
  bool json = false;
};

constexpr Duration kLongestSince = Duration::seconds(365 * 24 * 3600);

Duration parse_since(const std::string& text) {
  const auto since = config::parse_duration(text);
  if (!since || *since < Duration::seconds(1) || *since > kLongestSince)
    throw cli::UsageError("--since", "'" + text + "'; allowed: 1s to 8760h, such as 1h");
  return *since;
}

// A level that this client does not know is shown.
bool is_wanted(const Json& row, LogLevel least) {
  const auto level = parse_log_level(row.value("level", ""));
  return !level || *level <= least;
}

void run(const EventOptions& options) {
  std::string what = "events";
  if (options.since != Duration())
    what += ' ' + std::to_string(options.since.to_ns() / 1'000'000'000);
  const Reply reply = ask_with_notes(options.socket, Json{{"command", "show"}, {"what", what}});
  Json chosen = Json::array();
  for (const Json& row : reply.data)
    if (is_wanted(row, *parse_log_level(options.least))) chosen.push_back(row);
  if (options.json)
    std::cout << chosen.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  else
    std::cout << render_table(chosen, "no events");
  tools::check_output();
  for (const std::string& note : reply.notes) std::cerr << "note: " << harmless(note) << '\n';
}

}  // namespace

void add_events(cli::App& app) {
  auto options = std::make_shared<EventOptions>();
  cli::App* command =
      app.add_subcommand("events", "Show what happened in a running switch, and when");
  command
      ->add_parsed(
          "--since", [options](const std::string& text) { options->since = parse_since(text); },
          "How far back; everything that the switch still has if not given")
      ->type_name("TIME");
  command->add_option("--level", options->least, "Leave out what is less important")
      ->check(cli::is_member({"error", "warning", "notice", "info"}))
      ->capture_default_str()
      ->type_name("LEVEL");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_flag("--json", options->json, "Print the data as JSON instead of a table");
  command->footer(
      "Epochs of jobs that began or ended, and why; completion hosts that changed; stragglers "
      "that\n"
      "were excluded; ports; reloads; drops that began. The switch keeps the latest 4,096.\n"
      "Examples:\n"
      "  tributary events --since 1h\n"
      "  tributary events --level error");
  command->callback([options] { run(*options); });
}

}  // namespace tributary::client
