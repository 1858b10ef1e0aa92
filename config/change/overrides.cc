#include "config/change/overrides.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "config/text/flow_text.h"
#include "config/topology/assigned.h"

namespace tributary::config {
namespace {

const Node& key_of(const Node& entry, const char* key) {
  const Node* const value = child_of(&entry, key);
  if (value == nullptr) throw YamlError(entry.mark, std::string("has no '") + key + "'");
  return *value;
}

std::size_t place_in(const Node& node) {
  std::size_t index = 0;
  const char* const end = node.text.data() + node.text.size();
  const auto [stop, error] = std::from_chars(node.text.data(), end, index);
  if (error != std::errc() || stop != end)
    throw YamlError(node.mark, quoted(node.text) + " is no place in a list");
  return index;
}

void check_entry(const Node& entry) {
  constexpr std::array kKnown = {"path", "value", "element", "at", "removed"};
  if (entry.kind != Node::Kind::mapping)
    throw YamlError(entry.mark,
                    std::string("is ") + name_of(entry.kind) + "; allowed: a mapping with 'path'");
  for (const Entry& one : entry.entries)
    if (std::find(kKnown.begin(), kKnown.end(), one.key.text) == kKnown.end())
      throw YamlError(one.key.mark, "unknown key " + quoted(one.key.text) +
                                        "; allowed: path, value, element, at, removed");
}

Override parse_override(const Node& entry) {
  check_entry(entry);
  Override override;
  override.path = key_of(entry, "path").text;
  const Node* const value = child_of(&entry, "value");
  const Node* const element = child_of(&entry, "element");
  const Node* const removed = child_of(&entry, "removed");
  if ((value != nullptr) + (element != nullptr) + (removed != nullptr) != 1)
    throw YamlError(entry.mark, "has none or several of 'value', 'element' and 'removed'");
  if (value != nullptr) {
    check_value(override.path, *value);
    override.value = *value;
  } else if (element != nullptr) {
    override.kind = Override::Kind::element;
    override.value = *element;
    if (const Node* const at = child_of(&entry, "at")) override.at = place_in(*at);
  } else {
    override.kind = Override::Kind::removal;
  }
  return override;
}

}  // namespace

std::string text_of(const Override& override) {
  return override.kind == Override::Kind::removal ? "removed" : text_of(override.value);
}

std::optional<std::string> said_in(const Document& document, const Override& override) try {
  const bool is_key = override.kind == Override::Kind::value;
  const Node* const there = is_key ? value_at(document, find_place(document, override.path))
                                   : element_at(document, find_member(document, override.path));
  return there != nullptr ? std::optional(text_of(*there)) : std::nullopt;
} catch (const std::invalid_argument&) {
  return std::nullopt;
}

std::string text_in(const Document& document, const Override& override) {
  if (const auto said = said_in(document, override)) return *said;
  if (override.kind != Override::Kind::value) return "none";
  try {
    return find_place(document, override.path).fallback + " (default)";
  } catch (const std::invalid_argument&) {
    return "none";
  }
}

void apply(Document& document, const Override& override) {
  if (override.kind == Override::Kind::value)
    return put_value(document, find_place(document, override.path), override.value);
  Member member = find_member(document, override.path);
  member.at = override.at;
  if (override.kind == Override::Kind::element)
    put_element(document, member, override.value);
  else
    remove_element(document, member);
}

Document overridden(Document document, const Overrides& overrides) {
  for (const Override& one : overrides)
    if (one.aside.empty()) apply(document, one);
  return document;
}

void settle(const Document& document, bool is_assigned, const Judge& judge, Overrides& overrides) {
  Document all = document;
  std::vector<Override*> doubtful;
  for (Override& one : overrides) try {
      one.aside.clear();
      if (is_assigned && is_assigned_key(one.path))
        throw std::invalid_argument(one.path + ": is assigned by the manager");
      apply(all, one);
      doubtful.push_back(&one);
    } catch (const std::exception& error) {
      one.aside = error.what();
    }
  try {
    return judge(all);
  } catch (const std::exception& error) {  // one by one, then
    for (Override* const one : doubtful) one->aside = error.what();
  }
  for (bool found = true; found;) {
    found = false;
    for (Override* const one : doubtful) {
      if (one->aside.empty()) continue;
      one->aside.clear();
      try {
        judge(overridden(document, overrides));
        found = true;
      } catch (const std::exception& error) {
        one->aside = error.what();
      }
    }
  }
}

Overrides parse_overrides(std::string_view text) {
  const Node root = parse_yaml(text);
  if (root.kind != Node::Kind::sequence && root.kind != Node::Kind::null)
    throw YamlError(root.mark, std::string("is ") + name_of(root.kind) + "; allowed: a list");
  if (root.items.size() > kMostOverrides)
    throw YamlError(root.mark, "has " + std::to_string(root.items.size()) +
                                   " elements; allowed: at most " + std::to_string(kMostOverrides));
  Overrides overrides;
  for (const Node& entry : root.items) try {
      overrides.push_back(parse_override(entry));
    } catch (const std::invalid_argument& error) {
      throw YamlError(entry.mark, error.what());
    }
  return overrides;
}

std::string dump(const Overrides& overrides) {
  std::string text;
  const auto quote = [](const std::string& path) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = path;
    return flow_text(node);
  };
  for (const Override& one : overrides) {
    text += "- {path: " + quote(one.path);
    if (one.kind == Override::Kind::removal)
      text += ", removed: true";
    else
      text +=
          (one.kind == Override::Kind::value ? ", value: " : ", element: ") + flow_text(one.value);
    text += (one.at ? ", at: " + std::to_string(*one.at) : "") + "}\n";
  }
  return text;
}

}  // namespace tributary::config
