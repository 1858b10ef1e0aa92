// Command lines of all programs: CLI11 behind a header that costs nothing to include. An unknown
// option, command or word gets the nearest known one.
//
// CLI11 is a library of headers, and each file that includes it compiles its parser anew: six
// seconds on a fast machine. This one includes no header of it; app.cc alone does. Names and
// meanings are CLI11's. Not thread-safe; an App outlives the options and subcommands that it
// returns.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace tributary::cli {

// Every program exits with this status after a mistake in its command line.
inline constexpr int kExitUsage = 2;

// Thrown by callbacks and parsers of values; says what is wrong with the command line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "--rank 7: allowed: 0 to 3"
  UsageError(const std::string& option, const std::string& text)
      : std::runtime_error(option + ": " + text) {}
};

// A condition on an option's value; --help shows it.
class Validator {
 public:
  explicit Validator(const CLI::Validator& validator);
  [[nodiscard]] const CLI::Validator& get() const { return *validator_; }

 private:
  std::shared_ptr<const CLI::Validator> validator_;
};
Validator range(int least, int most);
Validator range(std::uint32_t least, std::uint32_t most);
Validator range(std::uint64_t least, std::uint64_t most);
Validator range(double least, double most);
Validator positive_number();
Validator is_member(std::vector<std::string> words);

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  Option* check(const Validator& validator);
  Option* type_name(const std::string& name);  // of the value, in --help
  Option* capture_default_str();               // --help shows the variable's present value
  Option* default_str(const std::string& text);
  Option* delimiter(char delimiter);
  Option* expected(int count);
  Option* expected(int least, int most);
  Option* take_all();
  Option* allow_extra_args(bool allowed);
  Option* envname(const std::string& name);
  Option* excludes(Option* other);
  [[nodiscard]] std::size_t count() const;  // how often the command line had it

 private:
  CLI::Option* option_;
};

class App {
 public:
  explicit App(const std::string& description, const std::string& name = {});
  explicit App(CLI::App* subcommand);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // `names` is CLI11's: "--write,-w"; "PORT" is a positional. Numbers are decimal digits that the
  // type holds. T is a string, a bool, an int, a
  // double, an unsigned number of 16, 32 or 64 bits, an std::optional of the latter two, or an
  // std::vector of strings, numbers of 32 or 64 bits, or doubles.
  template <typename T>
  Option* add_option(const std::string& names, T& target, const std::string& help);
  Option* add_flag(const std::string& names, bool& target, const std::string& help);
  // `parse` throws UsageError for a value that makes no sense.
  Option* add_parsed(const std::string& names, std::function<void(const std::string&)> parse,
                     const std::string& help);
  Option* add_parsed_list(const std::string& names,
                          std::function<void(const std::vector<std::string>&)> parse,
                          const std::string& help);
  // --ready-fd: a descriptor of the caller's. It must be open, and for writing, while the command
  // line is read: later its number may be one of the program's own.
  Option* add_ready_fd(int& descriptor);
  App* add_subcommand(const std::string& name, const std::string& description);

  App* set_version_flag(const std::string& names, const std::string& version);
  App* group(const std::string& name);
  App* footer(const std::string& text);
  App* require_subcommand(int count);
  App* allow_extras();
  // Runs when this subcommand was chosen; may throw UsageError, and anything else.
  App* callback(std::function<void()> run);

  [[nodiscard]] std::vector<std::string> remaining() const;
  [[nodiscard]] std::size_t count(const std::string& option) const;

  // The error for a word that no option, argument or command of this one takes.
  [[nodiscard]] std::string unknown(const std::string& word) const;

  // Reads the command line and runs callbacks. A value: exit with that status now; the help or the
  // version was shown (0, or 1 where it could not be), or what is wrong was printed (kExitUsage).
  [[nodiscard]] std::optional<int> run(int argc, const char* const* argv);
  // The same of one line. Throws UsageError instead of printing.
  void parse(const std::string& line);

 private:
  Option* keep(CLI::Option* option);

  std::unique_ptr<CLI::App> own_;  // none of a subcommand
  CLI::App* app_;
  std::deque<Option> options_;
  std::deque<App> subcommands_;
};

}  // namespace tributary::cli
