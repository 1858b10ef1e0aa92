// Builds the tree from yaml-cpp's events, so that limits apply while the text is being read.
#include "config/text/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <sstream>

#include "core/utf8.h"

namespace tributary::config {
namespace {

Mark to_mark(const YAML::Mark& m) {
  if (m.is_null()) return {};
  return {m.line + 1, m.column + 1};
}

void check_characters(std::string_view text) {
  Mark mark;
  for (std::size_t i = 0; i < text.size();) {
    const auto b = static_cast<std::uint8_t>(text[i]);
    if ((b < 0x20 && b != '\n' && b != '\r' && b != '\t') || b == 0x7F)
      throw YamlError(
          mark, "control character " + std::to_string(b) + "; allowed: a YAML text file in UTF-8");
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) throw YamlError(mark, "not UTF-8; allowed: a YAML text file in UTF-8");
    if (b == '\n') {
      ++mark.line;
      mark.column = 1;
    } else {
      ++mark.column;
    }
    i += length;
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Node& root) : root_(root) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      throw YamlError(to_mark(mark), "a second document; allowed: one document a file");
  }
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_alias(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(mark); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (anchor != 0) refuse_alias(mark);
    Node node;
    node.mark = to_mark(mark);
    add(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::scalar;
    node.mark = check(mark, tag, anchor);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, check(mark, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, check(mark, tag, anchor));
  }
  void OnMapEnd() override { close(); }

 private:
  [[noreturn]] static void refuse_alias(const YAML::Mark& mark) {
    throw YamlError(to_mark(mark),
                    "anchors (&) and aliases (*) are not supported; write the value out");
  }
  static Mark check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) refuse_alias(mark);
    if (!tag.empty() && tag != "?" && tag != "!")
      throw YamlError(to_mark(mark), "tags (!) are not supported; write the plain value");
    return to_mark(mark);
  }

  struct Open {
    Node node;
    bool has_key = false;
    Node key;
  };

  void open(Node::Kind kind, Mark mark) {
    if (stack_.size() >= static_cast<std::size_t>(kMaxDepth))
      throw YamlError(mark, "nested too deeply; allowed: " + std::to_string(kMaxDepth) + " levels");
    Open level;
    level.node.kind = kind;
    level.node.mark = mark;
    stack_.push_back(std::move(level));
  }
  void close() {
    Node done = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(done));
  }
  void add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      accept_key(parent, std::move(node));
    } else {
      parent.node.entries.push_back({std::move(parent.key), std::move(node)});
      parent.has_key = false;
    }
  }
  static void accept_key(Open& parent, Node key) {
    if (key.kind != Node::Kind::scalar)
      throw YamlError(key.mark, std::string("a key is ") + name_of(key.kind) + "; allowed: text");
    for (const auto& [other, value] : parent.node.entries)
      if (other.text == key.text)
        throw YamlError(key.mark, "key " + quoted(key.text) + " is given twice; first on line " +
                                      std::to_string(other.mark.line));
    // No mapping of the schema has nearly so many; this bounds the search for duplicate keys.
    if (parent.node.entries.size() >= 64)
      throw YamlError(key.mark, "too many keys in one mapping; allowed: 64");
    parent.key = std::move(key);
    parent.has_key = true;
  }

  Node& root_;
  std::vector<Open> stack_;
  int documents_ = 0;
};

}  // namespace

const char* name_of(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::scalar: return "a single value";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::mapping: return "a mapping";
  }
  return "?";
}

Node parse_yaml(std::string_view text) {
  if (text.size() > kMaxFileBytes)
    throw YamlError({}, std::to_string(text.size()) + " bytes; allowed: at most " +
                            std::to_string(kMaxFileBytes));
  check_characters(text);
  Node root;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(root);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    throw YamlError(to_mark(e.mark), "not valid YAML: " + e.msg);
  }
  return root;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out = "'";
  for (std::size_t i = 0; i < text.size() && i < kMost; ++i) {
    const auto b = static_cast<std::uint8_t>(text[i]);
    out += b >= 0x20 && b < 0x7F ? text[i] : '?';
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

}  // namespace tributary::config
