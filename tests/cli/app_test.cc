// Command lines: values land in variables, mistakes have their text and status, help and version
// end a program well.
#include "tools/cli/app.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace tributary::cli {
namespace {

// What the program would exit with; -1: it goes on.
template <std::size_t n>
int run(App& app, const std::array<const char*, n>& words) {
  return app.run(static_cast<int>(n), words.data()).value_or(-1);
}

std::string mistake(App& app, const std::string& line) {
  try {
    app.parse(line);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(App, FillsVariablesOfEveryType) {
  App app("test");
  std::string text;
  int signed_number = 0;
  double real = 0;
  std::uint16_t small = 0;
  std::uint32_t medium = 0;
  std::uint64_t large = 0;
  std::optional<std::uint32_t> absent;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> words;
  std::vector<std::uint32_t> numbers;
  std::vector<std::uint64_t> sizes;
  std::vector<double> rates;
  bool flag = false;
  app.add_option("--text", text, "");
  app.add_option("--signed", signed_number, "");
  app.add_option("--real", real, "");
  app.add_option("--small", small, "");
  app.add_option("--medium", medium, "");
  app.add_option("--large", large, "");
  app.add_option("--absent", absent, "");
  app.add_option("--seed", seed, "");
  app.add_option("WORDS", words, "");
  app.add_option("--numbers", numbers, "")->delimiter(',');
  app.add_option("--sizes", sizes, "")->delimiter(',');
  app.add_option("--rates", rates, "")->delimiter(',');
  app.add_flag("--flag", flag, "");
  app.parse(
      "a b --text t --signed -3 --real 0.5 --small 65535 --medium 4294967295 --large "
      "18446744073709551615 --seed 7 --numbers 1,2 --sizes 3 --rates 1.5,2 --flag");
  EXPECT_EQ(text, "t");
  EXPECT_EQ(signed_number, -3);
  EXPECT_EQ(real, 0.5);
  EXPECT_EQ(small, 65535);
  EXPECT_EQ(medium, 4294967295);
  EXPECT_EQ(large, ~std::uint64_t{0});
  EXPECT_EQ(absent, std::nullopt);
  EXPECT_EQ(seed, 7u);
  EXPECT_EQ(words, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(rates, (std::vector<double>{1.5, 2}));
  EXPECT_TRUE(flag);
}

TEST(App, SaysWhatIsWrongWithWhichOption) {
  App app("test", "prog");
  int number = 0;
  std::string word;
  app.add_option("--number", number, "")->check(range(2, 4));
  app.add_option("--word", word, "")->check(is_member({"red", "green"}));
  app.add_parsed(
      "--even",
      [](const std::string& text) { throw UsageError("--even", "'" + text + "' is odd"); }, "");
  EXPECT_EQ(mistake(app, "--number 4 --word red"), "none");
  EXPECT_EQ(mistake(app, "--number 5"), "prog: --number: '5'; allowed: a whole number, 2 to 4");
  EXPECT_EQ(mistake(app, "--word blue"), "prog: --word: 'blue'; allowed: red, green");
  EXPECT_EQ(mistake(app, "--word gren"),
            "prog: --word: 'gren'; did you mean 'green'?; allowed: red, green");
  EXPECT_EQ(mistake(app, "--even 3"), "prog: --even: '3' is odd");
}

TEST(App, EndsWithAStatusThatTellsGoodFromBad) {
  App app("test");
  std::string needed;
  app.set_version_flag("--version", "test 1.2");
  app.add_option("--needed", needed, "")->required();
  EXPECT_EQ(run(app, std::array{"test", "--help"}), 0);
  EXPECT_EQ(run(app, std::array{"test", "--version"}), 0);
  EXPECT_EQ(run(app, std::array{"test"}), kExitUsage);
  EXPECT_EQ(run(app, std::array{"test", "--unknown"}), kExitUsage);
  EXPECT_EQ(run(app, std::array{"test", "--needed", "x"}), -1);
}

TEST(App, UnknownWordsHaveANeighbour) {
  App app("test", "prog");
  app.require_subcommand(1);
  bool json = false;
  std::string what;
  App* show = app.add_subcommand("show", "");
  show->add_flag("--json", json, "");
  show->add_option("WHAT", what, "")->required();
  app.add_subcommand("trace", "");
  EXPECT_EQ(mistake(app, "shwo ports"),
            "prog: unknown command 'shwo'; did you mean 'show'?; allowed: show, trace");
  EXPECT_EQ(mistake(app, "shows"),
            "prog: unknown command 'shows'; did you mean 'show'?; allowed: show, trace");
  EXPECT_EQ(mistake(app, "show ports --jsn"),
            "prog show: unknown option '--jsn'; did you mean '--json'?");
  EXPECT_EQ(mistake(app, "show --jsno=1"),
            "prog show: unknown option '--jsno'; did you mean '--json'?")
      << "rather than that WHAT is missing";
  EXPECT_EQ(mistake(app, "show ports slots"), "prog show: takes no 'slots'");
  EXPECT_EQ(mistake(app, "show"), "prog show: WHAT is required");
  EXPECT_EQ(show->unknown("--jso"), "unknown option '--jso'; did you mean '--json'?");
  EXPECT_EQ(mistake(app, "show ports"), "none");
}

TEST(App, NumbersAreDecimalDigitsThatTheTypeHolds) {
  App app("test", "prog");
  std::uint32_t ops = 0;
  std::uint64_t seed = 0;
  double seconds = 0;
  std::optional<std::uint32_t> rank;
  std::vector<std::uint32_t> sizes;
  app.add_option("--ops", ops, "");
  app.add_option("--seed", seed, "");
  app.add_option("--seconds", seconds, "")->check(range(0.001, 1e6));
  app.add_option("--rank", rank, "");
  app.add_option("--sizes", sizes, "")->delimiter(',');
  for (const char* bad :
       {"-1", "5x", "0x10", "+5", "1e3", "4294967296", "99999999999999999999", "nan", "''", "' 5'"})
    for (const char* option : {"--ops", "--rank", "--sizes"})
      EXPECT_NE(mistake(app, std::string(option) + " " + bad).find(option), std::string::npos)
          << option << ' ' << bad;
  EXPECT_EQ(mistake(app, "--ops -1"),
            "prog: --ops: '-1'; allowed: a whole number, 0 to 4294967295");
  for (const char* bad : {"-1", "18446744073709551616", "99999999999999999999"})
    EXPECT_NE(mistake(app, std::string("--seed ") + bad), "none") << bad;
  for (const char* bad : {"nan", "inf", "-1", "0", "1e7", "3s", "0x1p3"})
    EXPECT_EQ(mistake(app, std::string("--seconds ") + bad),
              "prog: --seconds: '" + std::string(bad) + "'; allowed: a number, 0.001 to 1000000");
  EXPECT_EQ(mistake(app, "--ops 010 --seed 18446744073709551615 --rank 7 --seconds 1.5"), "none");
  EXPECT_EQ(ops, 10u) << "not octal";
  EXPECT_EQ(seed, ~std::uint64_t{0});
}

// Above the descriptors that the program opens itself.
int open_high(int flags) {
  const int fd = ::open("/dev/null", flags | O_CLOEXEC);
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 100);
  ::close(fd);
  return high;
}

// A number that is not open yet becomes one of the program's own descriptors later.
TEST(App, TheReadyDescriptorIsTheCallers) {
  App app("test", "prog");
  int ready = -1;
  app.add_ready_fd(ready);
  const int writable = open_high(O_WRONLY);
  const std::string number = std::to_string(writable);
  EXPECT_EQ(mistake(app, "--ready-fd " + number), "none");
  EXPECT_EQ(ready, writable);
  ::close(writable);
  EXPECT_NE(mistake(app, "--ready-fd " + number).find(number + " is not open"), std::string::npos);
  const int readable = open_high(O_RDONLY);
  EXPECT_NE(mistake(app, "--ready-fd " + std::to_string(readable)).find("for reading only"),
            std::string::npos);
  ::close(readable);
  EXPECT_NE(mistake(app, "--ready-fd -1"), "none");
}

TEST(App, RunsTheSubcommandThatWasChosen) {
  App app("test", "prog");
  app.require_subcommand(1);
  std::string log;
  App* first = app.add_subcommand("first", "");
  Option* rank = first->add_flag("--rank", *std::make_shared<bool>(), "");
  first->callback([&] { log += "first"; });
  App* second = app.add_subcommand("second", "");
  second->allow_extras();
  second->callback([&] {
    for (const std::string& word : second->remaining()) log += word + ";";
    throw UsageError("second has no luck");
  });
  app.parse("first");
  EXPECT_EQ(log, "first");
  EXPECT_EQ(rank->count(), 0u);
  EXPECT_EQ(mistake(app, "second [a,b] c"), "prog second: second has no luck");
  EXPECT_EQ(log, "first[a,b];c;");
  EXPECT_NE(mistake(app, ""), "none");
}

TEST(App, OtherExceptionsOfACallbackPass) {
  App app("test");
  app.callback([] { throw std::out_of_range("else"); });
  EXPECT_THROW(app.parse(""), std::out_of_range);
}

TEST(App, OptionsExcludeEachOther) {
  App app("test");
  bool one = false;
  std::vector<std::string> names;
  Option* other = app.add_flag("--one", one, "");
  app.add_parsed_list(
         "--name", [&](const std::vector<std::string>& texts) { names = texts; }, "")
      ->expected(1)
      ->take_all()
      ->excludes(other);
  app.parse("--name a --name b");
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(app.count("--name"), 2u);
  EXPECT_NE(mistake(app, "--one --name a"), "none");
}

}  // namespace
}  // namespace tributary::cli
