#include "tools/cli/app.h"

#include <CLI/CLI.hpp>
#include <utility>

namespace tributary::cli {
namespace {

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
  return Validator(CLI::Range(least, most));
}
Validator range(std::uint32_t least, std::uint32_t most) {
  return Validator(CLI::Range(least, most));
}
Validator range(std::uint64_t least, std::uint64_t most) {
  return Validator(CLI::Range(least, most));
}
Validator range(double least, double most) {
  return Validator(CLI::Range(least, most));
}
Validator positive_number() {
  return Validator(CLI::PositiveNumber);
}
Validator is_member(std::vector<std::string> words) {
  return Validator(CLI::IsMember(std::move(words)));
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
  return keep(app_->add_option(names, target, help));
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
    return app_->exit(error);
  }
  return std::nullopt;
}

void App::parse(const std::string& line) {
  try {
    app_->parse(line);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace tributary::cli
