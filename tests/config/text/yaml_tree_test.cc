// Text that is no configuration at all: refused early, cheaply and with a position.
#include "config/text/yaml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/prng.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

std::string repeat(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(YamlTree, PositionsAreThoseOfAnEditor) {
  const Node root = parse_yaml("# comment\na: 1\nb:\n  - x\n  - {c: \"2\"}\n");
  ASSERT_EQ(root.kind, Node::Kind::mapping);
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key.mark, (Mark{2, 1}));
  EXPECT_EQ(root.entries[0].value.mark, (Mark{2, 4}));
  EXPECT_FALSE(root.entries[0].value.quoted);
  const Node& list = root.entries[1].value;
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].mark, (Mark{4, 5}));
  const auto& [key, value] = list.items[1].entries.at(0);
  EXPECT_EQ(key.mark, (Mark{5, 6}));
  EXPECT_EQ(value.mark, (Mark{5, 9}));
  EXPECT_TRUE(value.quoted);
}

TEST(YamlTree, RefusesWhatAConfigurationCannotNeed) {
  EXPECT_THAT(errors_of("a: &x 1\nb: *x\n"),
              ElementsAre("f.yaml:1:4: anchors (&) and aliases (*) are not supported; write the "
                          "value out"));
  EXPECT_THAT(errors_of("a: !!str 1\n"),
              ElementsAre("f.yaml:1:4: tags (!) are not supported; write the plain value"));
  EXPECT_THAT(errors_of("a: 1\n---\nb: 2\n"),
              ElementsAre(StartsWith("f.yaml:2:1: a second document")));
  EXPECT_THAT(errors_of("a: 1\na: 2\n"),
              ElementsAre("f.yaml:2:1: key 'a' is given twice; first on line 1"));
  EXPECT_THAT(errors_of("[a, b]: 1\n"), ElementsAre("f.yaml:1:1: a key is a list; allowed: text"));
  EXPECT_THAT(errors_of("a: [1\n"), ElementsAre(StartsWith("f.yaml:2:1: not valid YAML: ")));
  EXPECT_THAT(errors_of("a: 1\n\tb: 2\n"), ElementsAre(StartsWith("f.yaml:")));
}

TEST(YamlTree, RefusesBinaryFiles) {
  EXPECT_THAT(errors_of(std::string_view("a: 1\nb: \0x\n", 11)),
              ElementsAre(StartsWith("f.yaml:2:4: control character 0")));
  EXPECT_THAT(errors_of("\x7F"
                        "ELF"),
              ElementsAre(StartsWith("f.yaml:1:1: control character 127")));
  EXPECT_THAT(errors_of("a: \xFF\xFE"), ElementsAre(StartsWith("f.yaml:1:4: not UTF-8")));
  EXPECT_THAT(errors_of("a: \xC0\x80"), ElementsAre(StartsWith("f.yaml:1:4: not UTF-8")));
  EXPECT_THAT(errors_of("a: \xED\xA0\x80"), ElementsAre(StartsWith("f.yaml:1:4: not UTF-8")));
  EXPECT_THAT(errors_of("a: \xE2\x82"), ElementsAre(StartsWith("f.yaml:1:4: not UTF-8")));
}

// Each of these would take unbounded stack, memory or time if it were read first and judged later.
TEST(YamlTree, BombsAreCheap) {
  EXPECT_THAT(errors_of(repeat("[", 500'000)),
              ElementsAre(StartsWith("f.yaml:1:9: nested too deep")));
  EXPECT_THAT(errors_of(repeat("{a: ", 200'000)),
              ElementsAre(StartsWith("f.yaml:1:61: nested too")));
  EXPECT_THAT(errors_of(repeat("- ", 300'000)),
              ElementsAre(StartsWith("f.yaml:1:33: nested too dee")));
  EXPECT_THAT(errors_of(repeat("? ", 300'000)), ElementsAre(StartsWith("f.yaml:1:")));
  EXPECT_THAT(errors_of(std::string(kMaxFileBytes + 1, ' ')),
              ElementsAre("f.yaml:1:1: 1048577 bytes; allowed: at most 1048576"));
  std::string laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 26; ++i) {
    const char name = static_cast<char>('a' + i);
    const char previous = static_cast<char>(name - 1);
    for (const auto& piece : {std::string{name}, std::string(": &"), std::string{name}})
      laughs += piece;
    laughs += " [";
    for (int k = 0; k < 9; ++k) laughs.append(k > 0 ? ",*" : "*").push_back(previous);
    laughs += "]\n";
  }
  EXPECT_THAT(errors_of(laughs), ElementsAre(StartsWith("f.yaml:1:4: anchors")));
  std::string keys;
  for (int i = 0; i < 50'000; ++i) keys.append("k").append(std::to_string(i)).append(": 1\n");
  EXPECT_THAT(errors_of(keys),
              ElementsAre("f.yaml:65:1: too many keys in one mapping; allowed: 64"));
}

// Damaged copies of a good file end in an answer, never in a crash.
TEST(YamlTree, MutatedFilesGetAnAnswer) {
  constexpr std::uint64_t kSeed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  constexpr std::string_view kAlphabet = "{}[]:,-?&*!|>'\"%@`# \n\tab01\\~<=";
  Prng prng(kSeed);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text(kSample);
    for (std::uint32_t i = 0, n = 1 + prng.below(6); i < n; ++i) {
      const std::size_t at = prng.below(static_cast<std::uint32_t>(text.size()));
      const char c = prng.below(8) == 0 ? static_cast<char>(prng.below(256))
                                        : kAlphabet[prng.below(kAlphabet.size())];
      switch (prng.below(3)) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        default: text.erase(at, 1 + prng.below(40)); break;
      }
    }
    for (const auto& line : errors_of(text)) {
      EXPECT_TRUE(line.starts_with("f.yaml:")) << line;
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tributary::config
