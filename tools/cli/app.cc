#include "tools/cli/app.h"

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cmath>
#include <concepts>
#include <iostream>
#include <limits>
#include <sstream>
#include <type_traits>
#include <utility>

#include "config/text/nearest.h"
#include "tools/program/standard_output.h"

namespace tributary::cli {
namespace {

using Words = std::vector<std::string>;

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Digits alone: no sign but a minus where that is allowed, no space, other base or infinity.
template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc{} || end != last) return std::nullopt;
  if constexpr (std::floating_point<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

template <typename T>
std::string text_of(T value) {
  std::array<char, 400> digits{};  // a double may have 309 before its point
  char* const last = digits.data() + digits.size();
  if constexpr (std::floating_point<T>)
    return {digits.data(), std::to_chars(digits.data(), last, value, std::chars_format::fixed).ptr};
  else
    return {digits.data(), std::to_chars(digits.data(), last, value).ptr};
}

template <typename T>
std::string allowed(const std::string& text, T least, T most) {
  return "'" + text + "'; allowed: a " + (std::floating_point<T> ? "number, " : "whole number, ") +
         text_of(least) + " to " + text_of(most);
}

template <typename T>
T parse_number(const std::string& names, const std::string& text) {
  if (const auto value = number_in<T>(text)) return *value;
  if constexpr (std::floating_point<T>)
    throw CLI::ValidationError(names, "'" + text + "'; allowed: a number");
  else
    throw CLI::ValidationError(
        names, allowed(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <typename T>
CLI::Validator within(T least, T most) {
  return {[least, most](const std::string& text) -> std::string {
            const auto value = number_in<T>(text);
            return value && *value >= least && *value <= most ? "" : allowed(text, least, most);
          },
          ""};
}

// CLI11 would read "010" as 8, " 5" as 5, "-1" as the largest number, and 1e99 as another one.
template <typename T>
CLI::Option* add_number(CLI::App& app, const std::string& names, T& target,
                        const std::string& help) {
  CLI::Option* const option = app.add_option_function<std::string>(
      names, [names, &target](const std::string& text) { target = parse_number<T>(names, text); },
      help);
  option->default_function([&target] { return text_of(target); });
  return option->type_name("N");
}
template <typename T>
CLI::Option* add_number(CLI::App& app, const std::string& names, std::optional<T>& target,
                        const std::string& help) {
  return app
      .add_option_function<std::string>(
          names,
          [names, &target](const std::string& text) { target = parse_number<T>(names, text); },
          help)
      ->type_name("N");
}
template <typename T>
CLI::Option* add_number(CLI::App& app, const std::string& names, std::vector<T>& target,
                        const std::string& help) {
  return app
      .add_option_function<Words>(
          names,
          [names, &target](const Words& texts) {
            target.clear();
            for (const std::string& text : texts) target.push_back(parse_number<T>(names, text));
          },
          help)
      ->type_name("N");
}

// The command that was being read when the parser stopped.
const CLI::App& last_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : last_command(*chosen.back());
}

std::string full_name(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  return above == nullptr ? app.get_name() : full_name(*above) + ' ' + app.get_name();
}

Words option_names(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back('-' + name);
  }
  return names;
}

Words command_names(const CLI::App& app) {
  Words names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

// The error for a word that no option, argument or command takes.
std::string unknown_word(const CLI::App& app, const std::string& word) {
  if (word.starts_with('-')) {
    const std::string name = word.substr(0, word.find('='));
    return "unknown option '" + name + "'" + config::nearest_hint(name, option_names(app));
  }
  const Words commands = command_names(app);
  if (commands.empty()) return "takes no '" + word + "'";
  return "unknown command '" + word + "'" + config::nearest_hint(word, commands) +
         "; allowed: " + joined(commands);
}

// An unknown word comes first: an option that is missing may be the one that is misspelt.
std::string mistake_text(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& command = last_command(app);
  for (const CLI::App* asked : {&command, &app})
    if (!asked->get_allow_extras() && !asked->remaining().empty())
      return full_name(*asked) + ": " + unknown_word(*asked, asked->remaining().front());
  return full_name(command) + ": " + error.what();
}

// CLI11 prints its own errors only.
template <typename Function, typename... Args>
void translated(const Function& function, const Args&... args) {
  try {
    function(args...);
  } catch (const UsageError& error) {
    throw CLI::ValidationError(error.what());
  }
}

}  // namespace

Validator::Validator(const CLI::Validator& validator)
    : validator_(std::make_shared<const CLI::Validator>(validator)) {}

Validator range(int least, int most) {
  return Validator(within(least, most));
}
Validator range(std::uint32_t least, std::uint32_t most) {
  return Validator(within(least, most));
}
Validator range(std::uint64_t least, std::uint64_t most) {
  return Validator(within(least, most));
}
Validator range(double least, double most) {
  return Validator(within(least, most));
}
Validator positive_number() {
  return range(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max());
}
Validator is_member(std::vector<std::string> words) {
  const std::string all = joined(words);
  return Validator({[words = std::move(words), all](const std::string& text) -> std::string {
                      if (std::find(words.begin(), words.end(), text) != words.end()) return "";
                      return "'" + text + "'" + config::nearest_hint(text, words) +
                             "; allowed: " + all;
                    },
                    ""});
}

Option* Option::required() {
  option_->required();
  return this;
}
Option* Option::check(const Validator& validator) {
  option_->check(validator.get());
  return this;
}
Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}
Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}
Option* Option::default_str(const std::string& text) {
  option_->default_str(text);
  return this;
}
Option* Option::delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return this;
}
Option* Option::expected(int count) {
  option_->expected(count);
  return this;
}
Option* Option::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}
Option* Option::take_all() {
  option_->take_all();
  return this;
}
Option* Option::allow_extra_args(bool allowed) {
  option_->allow_extra_args(allowed);
  return this;
}
Option* Option::envname(const std::string& name) {
  option_->envname(name);
  return this;
}
Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}
std::size_t Option::count() const {
  return option_->count();
}

App::App(const std::string& description, const std::string& name)
    : own_(std::make_unique<CLI::App>(description, name)), app_(own_.get()) {}
App::App(CLI::App* subcommand) : app_(subcommand) {}
App::~App() = default;

Option* App::keep(CLI::Option* option) {
  return &options_.emplace_back(option);
}

template <typename T>
Option* App::add_option(const std::string& names, T& target, const std::string& help) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Words>)
    return keep(app_->add_option(names, target, help));
  else
    return keep(add_number(*app_, names, target, help));
}
template Option* App::add_option(const std::string&, std::string&, const std::string&);
template Option* App::add_option(const std::string&, int&, const std::string&);
template Option* App::add_option(const std::string&, double&, const std::string&);
template Option* App::add_option(const std::string&, std::uint16_t&, const std::string&);
template Option* App::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option* App::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option* App::add_option(const std::string&, std::optional<std::uint32_t>&,
                                 const std::string&);
template Option* App::add_option(const std::string&, std::optional<std::uint64_t>&,
                                 const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::uint32_t>&,
                                 const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::uint64_t>&,
                                 const std::string&);
template Option* App::add_option(const std::string&, std::vector<double>&, const std::string&);

Option* App::add_flag(const std::string& names, bool& target, const std::string& help) {
  return keep(app_->add_flag(names, target, help));
}

Option* App::add_parsed(const std::string& names, std::function<void(const std::string&)> parse,
                        const std::string& help) {
  return keep(app_->add_option_function<std::string>(
      names, [parse = std::move(parse)](const std::string& text) { translated(parse, text); },
      help));
}

Option* App::add_parsed_list(const std::string& names,
                             std::function<void(const std::vector<std::string>&)> parse,
                             const std::string& help) {
  using Texts = std::vector<std::string>;
  return keep(app_->add_option_function<Texts>(
      names, [parse = std::move(parse)](const Texts& texts) { translated(parse, texts); }, help));
}

Option* App::add_ready_fd(int& descriptor) {
  const auto parse = [&descriptor](const std::string& text) {
    const auto given = number_in<int>(text);
    if (!given || *given < 0) throw UsageError("--ready-fd", allowed(text, 0, INT_MAX));
    const int flags = ::fcntl(*given, F_GETFL);
    if (flags < 0)
      throw UsageError("--ready-fd", text +
                                         " is not open; allowed: a descriptor that the caller "
                                         "has opened for writing");
    if ((flags & O_ACCMODE) == O_RDONLY)
      throw UsageError("--ready-fd", text + " is open for reading only");
    descriptor = *given;
  };
  return add_parsed("--ready-fd", parse,
                    "write a line to this descriptor when serving, and close it")
      ->type_name("FD");
}

App* App::add_subcommand(const std::string& name, const std::string& description) {
  return &subcommands_.emplace_back(app_->add_subcommand(name, description));
}

App* App::set_version_flag(const std::string& names, const std::string& version) {
  app_->set_version_flag(names, version);
  return this;
}
App* App::group(const std::string& name) {
  app_->group(name);
  return this;
}
App* App::footer(const std::string& text) {
  app_->footer(text);
  return this;
}
App* App::require_subcommand(int count) {
  app_->require_subcommand(count);
  return this;
}
App* App::allow_extras() {
  app_->allow_extras();
  return this;
}
App* App::callback(std::function<void()> run) {
  app_->callback([run = std::move(run)] { translated(run); });
  return this;
}

std::vector<std::string> App::remaining() const {
  return app_->remaining();
}
std::size_t App::count(const std::string& option) const {
  return app_->count(option);
}

std::optional<int> App::run(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    app_->failure_message([](const CLI::App* app, const CLI::Error& mistake) {
      const std::string name = full_name(last_command(*app));
      return mistake_text(*app, mistake) + "\n`" + name + " --help` says what is allowed.\n";
    });
    std::ostringstream help;  // CLI11 would flush it, and lose the reason why that fails
    const int status = app_->exit(error, help, std::cerr) == 0 ? 0 : kExitUsage;
    std::cout << help.str();
    return tools::finish_output(app_->get_name(), status);
  }
  return std::nullopt;
}

void App::parse(const std::string& line) {
  try {
    app_->parse(line);
  } catch (const CLI::ParseError& error) {
    throw UsageError(mistake_text(*app_, error));
  }
}

std::string App::unknown(const std::string& word) const {
  return unknown_word(*app_, word);
}

}  // namespace tributary::cli
