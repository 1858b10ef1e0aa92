// Command lines: values land in variables, mistakes have their text and status, help and version
// end a program well.
#include "tools/cli/app.h"

#include <gtest/gtest.h>

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
  App app("test");
  int number = 0;
  std::string word;
  app.add_option("--number", number, "")->check(range(2, 4));
  app.add_option("--word", word, "")->check(is_member({"red", "green"}));
  app.add_parsed(
      "--even",
      [](const std::string& text) { throw UsageError("--even", "'" + text + "' is odd"); }, "");
  EXPECT_EQ(mistake(app, "--number 4 --word red"), "none");
  EXPECT_NE(mistake(app, "--number 5").find("5 not in range 2 to 4"), std::string::npos);
  EXPECT_NE(mistake(app, "--word blue").find("--word: blue not in {red,green}"), std::string::npos);
  EXPECT_EQ(mistake(app, "--even 3"), "--even: '3' is odd");
}

TEST(App, EndsWithAStatusThatTellsGoodFromBad) {
  App app("test");
  std::string needed;
  app.set_version_flag("--version", "test 1.2");
  app.add_option("--needed", needed, "")->required();
  EXPECT_EQ(run(app, std::array{"test", "--help"}), 0);
  EXPECT_EQ(run(app, std::array{"test", "--version"}), 0);
  EXPECT_GT(run(app, std::array{"test"}), 0);
  EXPECT_GT(run(app, std::array{"test", "--unknown"}), 0);
  EXPECT_EQ(run(app, std::array{"test", "--needed", "x"}), -1);
}

TEST(App, RunsTheSubcommandThatWasChosen) {
  App app("test");
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
  EXPECT_EQ(mistake(app, "second [a,b] c"), "second has no luck");
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
