// YAML text as a small tree with a position on every node. The only code that uses yaml-cpp.
//
// A configuration is untrusted plain data: features that it cannot need are refused before they
// cost anything: more than kMaxFileBytes, nesting beyond kMaxDepth, anchors and aliases (a few
// lines of which can stand for gigabytes), tags, several documents, keys that are not plain text,
// duplicate keys, control characters, text that is not UTF-8.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::config {

inline constexpr std::size_t kMaxFileBytes = 1 << 20;
inline constexpr int kMaxDepth = 16;

// 1-based, as editors count.
struct Mark {
  int line = 1;
  int column = 1;
  bool operator==(const Mark&) const = default;
};

struct Entry;
struct Node {
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  Mark mark;
  std::string text;            // scalar, or the key's own text when this node is a key
  bool quoted = false;         // scalar written in quotes or as a block: text, never a number
  std::vector<Node> items;     // sequence
  std::vector<Entry> entries;  // mapping, in file order, keys distinct
};
struct Entry {
  Node key;
  Node value;
};
// "a list", "a mapping", "text" ...
const char* name_of(Node::Kind kind);

// The first reason why a text is not a tree; parsing stops there.
class YamlError : public std::runtime_error {
 public:
  YamlError(Mark mark, const std::string& message) : std::runtime_error(message), mark_(mark) {}
  [[nodiscard]] Mark mark() const { return mark_; }

 private:
  Mark mark_;
};

// Throws YamlError.
Node parse_yaml(std::string_view text);

// For messages: at most 40 characters of `text` in quotes, without unprintable ones.
std::string quoted(std::string_view text);

}  // namespace tributary::config
