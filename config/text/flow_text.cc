#include "config/text/flow_text.h"

#include <algorithm>
#include <string_view>

namespace tributary::config {
namespace {

bool is_plain_flow(std::string_view text) {
  constexpr std::string_view kFirst = "_./+";  // beside letters and digits
  constexpr std::string_view kLater = "_./+-:%@";
  const auto is_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto may_be = [&](std::string_view others) {
    return [=](char c) { return is_word(c) || others.find(c) != std::string_view::npos; };
  };
  return !text.empty() && text != "null" && text != "Null" && text != "NULL" &&
         text.back() != ':' && may_be(kFirst)(text.front()) &&
         std::all_of(text.begin(), text.end(), may_be(kLater));
}

std::string flow_scalar(const Node& node) {
  const bool is_negative = node.text.size() > 1 && node.text[0] == '-' && node.text[1] >= '0' &&
                           node.text[1] <= '9' &&
                           is_plain_flow(std::string_view(node.text).substr(1));
  if (!node.quoted && (is_plain_flow(node.text) || is_negative)) return node.text;
  std::string text = "\"";
  for (const char c : node.text) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\r') {
      text += "\\r";
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + '"';
}

}  // namespace

std::string flow_text(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::null: return "null";
    case Node::Kind::scalar: return flow_scalar(node);
    case Node::Kind::sequence:
      for (const Node& item : node.items)
        text.append(text.empty() ? "" : ", ").append(flow_text(item));
      return "[" + text + "]";
    case Node::Kind::mapping:
      for (const Entry& entry : node.entries)
        text.append(text.empty() ? "" : ", ")
            .append(flow_scalar(entry.key))
            .append(": ")
            .append(flow_text(entry.value));
      return "{" + text + "}";
  }
  return text;
}

}  // namespace tributary::config
