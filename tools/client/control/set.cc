// `tributary set`: single keys of a running switch's configuration, without a file.
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"

namespace tributary::client {
namespace {

// The switch answers when the change is in force.
constexpr Duration kPatience = Duration::seconds(90);

struct SetOptions {
  std::vector<std::string> words;
  std::string socket = kDefaultSocket;
  bool to_default = false;
  bool dry_run = false;
  bool json = false;
};

void add_value(Json& values, const std::string& path, Json value) {
  if (values.contains(path)) throw std::invalid_argument("set: " + path + " is given twice");
  values[path] = std::move(value);
}

// All but the first. The parser would take a word in brackets apart, and that is a value here.
void take_words(const cli::App& command, SetOptions& options) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-')) throw std::invalid_argument("set: " + command.unknown(word));
    options.words.push_back(word);
  }
}

Json values_of(const SetOptions& options) {
  Json values = Json::object();
  const auto& words = options.words;
  if (options.to_default) {
    for (const std::string& path : words) add_value(values, path, nullptr);
    return values;
  }
  if (words.size() % 2 != 0)
    throw std::invalid_argument("set: " + words.back() +
                                " has no value; expected PATH VALUE, or PATH with --default");
  for (std::size_t i = 0; i < words.size(); i += 2) add_value(values, words[i], words[i + 1]);
  return values;
}

std::string text_in(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "?";
}

void set(const SetOptions& options) {
  const Json request{
      {"command", "set"}, {"values", values_of(options)}, {"dry_run", options.dry_run}};
  const Json data = ask_switch(options.socket, request, kPatience);
  if (options.json) {
    std::cout << data.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    return;
  }
  if (!data.is_object() || !data.contains("keys") || !data["keys"].is_array())
    throw ControlError("the answer from " + options.socket + " does not say what has changed");
  for (const Json& key : data["keys"])
    std::cout << text_in(key, "path") << ": " << text_in(key, "from") << " -> "
              << text_in(key, "to") << '\n';
  std::cout << (options.dry_run ? "would be: " : "") << text_in(data, "change") << '\n';
  if (!options.dry_run && !options.to_default)
    std::cout << "in no file: a reload or a restart drops it\n";
}

}  // namespace

void add_set(cli::App& app) {
  auto options = std::make_shared<SetOptions>();
  cli::App* command =
      app.add_subcommand("set", "Change keys of a running switch's configuration, not of its file");
  options->words.emplace_back();
  command
      ->add_option(
          "PATH VALUE", options->words.front(),
          "A key as the file has it, elements of lists by name, id or [place]; and what it is to "
          "say. Again for more, which change together")
      ->required()
      ->type_name("");
  command->allow_extras();  // see take_words()
  command->add_flag("--default", options->to_default,
                    "PATHs without values: what the file says holds again");
  command->add_flag("--dry-run", options->dry_run, "Say what would change, and change nothing");
  command->add_flag("--json", options->json, "Print the answer as JSON");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "set may change every key that a reload may change, with the same checks and errors.\n"
      "`tributary show overrides` lists what was set; a reload drops it.\n"
      "Examples:\n"
      "  tributary set ports.w0.storm.broadcast 1000\n"
      "  tributary set forwarding.fdb_ageing 60s switch.idle_sleep_max 50us\n"
      "  tributary set jobs.1.deadline 10s --dry-run\n"
      "  tributary set ports.up.vlan.allowed '[10, 100-199]'\n"
      "  tributary set 'ports.up.vlan.allowed[1]' 200-299\n"
      "  tributary set forwarding.fdb_ageing --default");
  command->callback([options, command] {
    take_words(*command, *options);
    set(*options);
  });
}

}  // namespace tributary::client
