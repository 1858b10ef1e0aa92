// `tributary set` and `unset`: single keys of a running switch's configuration, over its file.
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
  bool remove = false;
  bool all = false;
  bool dry_run = false;
  bool json = false;
};

void add_value(Json& values, const std::string& path, Json value) {
  if (values.contains(path)) throw std::invalid_argument("set: " + path + " is given twice");
  values[path] = std::move(value);
}

// "-5" is a value, "-x" an option that does not exist.
bool is_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

// All but the first. The parser would take a word in brackets apart, and that is a value here.
void take_words(const cli::App& command, SetOptions& options) {
  for (const std::string& word : command.remaining()) {
    if (word.starts_with('-') && !is_number(word))
      throw std::invalid_argument("set: " + command.unknown(word));
    options.words.push_back(word);
  }
}

Json values_of(const std::vector<std::string>& words) {
  if (words.size() % 2 != 0)
    throw std::invalid_argument("set: " + words.back() +
                                " has no value; expected PATH VALUE, or PATH with --remove");
  Json values = Json::object();
  for (std::size_t i = 0; i < words.size(); i += 2) add_value(values, words[i], words[i + 1]);
  return values;
}

std::string text_in(const Json& row, const char* key) {
  return row.contains(key) && row[key].is_string() ? row[key].get<std::string>() : "?";
}

void change(const SetOptions& options, Json request, const char* kept, const char* not_kept) {
  request["command"] = "set";
  request["dry_run"] = options.dry_run;
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
  if (!options.dry_run) std::cout << (data.value("kept", Json()) == true ? kept : not_kept);
}

void set(const SetOptions& options) {
  Json request =
      options.remove ? Json{{"remove", options.words}} : Json{{"values", values_of(options.words)}};
  change(options, std::move(request), "over the file, until `tributary unset`\n",
         "over the file, until `tributary unset` or a restart\n");
}

void unset(const SetOptions& options) {
  if (options.all == !options.words.empty())
    throw std::invalid_argument("unset: expected PATHs, or --all");
  if (options.all) return change(options, {{"unset_all", true}}, "", "");
  Json values = Json::object();
  for (const std::string& path : options.words) add_value(values, path, nullptr);
  change(options, {{"values", std::move(values)}}, "", "");
}

void add_common(cli::App& command, SetOptions& options) {
  command.add_flag("--dry-run", options.dry_run, "Say what would change, and change nothing");
  command.add_flag("--json", options.json, "Print the answer as JSON");
  command.add_option("--socket", options.socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
}

}  // namespace

void add_set(cli::App& app) {
  auto options = std::make_shared<SetOptions>();
  cli::App* command =
      app.add_subcommand("set", "Change keys of a running switch's configuration, over its file");
  options->words.emplace_back();
  command
      ->add_option(
          "PATH VALUE", options->words.front(),
          "A key as the file has it, elements of lists by name, id or [place]; and what it is to "
          "say. An element of a list as a whole, there or not: PATH '{KEY: VALUE}'. Again for "
          "more, which change together")
      ->required()
      ->type_name("");
  command->add_flag("--remove", options->remove,
                    "PATHs without values: jobs, ports, rules and other elements go");
  command->allow_extras();  // see take_words()
  add_common(*command, *options);
  command->footer(
      "set may change every key that a reload may change, with the same checks and errors.\n"
      "It counts for more than the file, after a reload and, where the switch was started with\n"
      "--overrides, after a restart. `tributary show overrides` lists it,\n"
      "`tributary unset` takes it back.\n"
      "Examples:\n"
      "  tributary set ports.w0.storm.broadcast 1000\n"
      "  tributary set forwarding.fdb_ageing 60s switch.idle_sleep_max 50us\n"
      "  tributary set jobs.1.deadline 10s --dry-run\n"
      "  tributary set ports.up.vlan.allowed '[10, 100-199]'\n"
      "  tributary set 'ports.up.vlan.allowed[1]' 200-299\n"
      "  tributary set jobs.7 '{workers: 4, chunk_bytes: 8192}'\n"
      "  tributary set 'acl.rules[0]' '{name: lab, action: deny, source: 10.9.0.0/16}'\n"
      "  tributary set --remove jobs.7 ports.w3");
  command->callback([options, command] {
    take_words(*command, *options);
    set(*options);
  });
}

void add_unset(cli::App& app) {
  auto options = std::make_shared<SetOptions>();
  cli::App* command = app.add_subcommand(
      "unset", "Take back what `tributary set` has changed: what the file says holds again");
  command->add_flag("--all", options->all, "Everything that `tributary show overrides` lists");
  command->add_option("PATH", options->words, "A path that `tributary show overrides` lists");
  add_common(*command, *options);
  command->footer(
      "With an element that was added go the keys that were set in it; one that was removed comes\n"
      "back.\n"
      "Examples:\n"
      "  tributary unset ports.w0.storm.broadcast\n"
      "  tributary unset --all --dry-run");
  command->callback([options] { unset(*options); });
}

}  // namespace tributary::client
