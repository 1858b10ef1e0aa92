#include "config/change/override.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "config/text/flow_text.h"
#include "config/text/read_context.h"

namespace tributary::config {
namespace {

constexpr Mark kNowhere = {0, 0};  // in no file

[[noreturn]] void refuse_value(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

void take_out_of_files(Node& node) {
  node.mark = kNowhere;
  for (Node& item : node.items) take_out_of_files(item);
  for (Entry& entry : node.entries) {
    entry.key.mark = kNowhere;
    take_out_of_files(entry.value);
  }
}

Node scalar_of(std::string text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.text = std::move(text);
  node.mark = kNowhere;
  return node;
}

void check_text(const std::string& path, const std::string& text, std::size_t most) {
  if (text.size() > most)
    refuse_value(path, "a value of " + std::to_string(text.size()) + " bytes; allowed: at most " +
                           std::to_string(most));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), is_control))
    refuse_value(path, quoted(text) + " has control characters; allowed: text on one line");
}

Node parse_or_refuse(const std::string& path, const std::string& text) try {
  return parse_yaml(text);
} catch (const YamlError& error) {
  refuse_value(path, quoted(text) + " " + error.what());
}

// The node that the steps lead to, made where the document lacks it.
Node& reach(Document& document, const std::vector<Place::Step>& steps) {
  Node* at = &document.root;
  for (const Place::Step& step : steps) {
    if (const auto* const index = std::get_if<std::size_t>(&step)) {
      at = &at->items[*index];
      continue;
    }
    const auto& key = std::get<std::string>(step);
    auto found = std::find_if(at->entries.begin(), at->entries.end(),
                              [&](const Entry& entry) { return entry.key.text == key; });
    if (found == at->entries.end()) {
      at->kind = Node::Kind::mapping;  // it may have been null
      found = at->entries.insert(found, Entry{scalar_of(key), {}});
      found->value.mark = kNowhere;
    }
    at = &found->value;
  }
  return *at;
}

const Node* look(const Document& document, const std::vector<Place::Step>& steps) {
  const Node* at = &document.root;
  for (const Place::Step& step : steps) {
    const auto* const index = std::get_if<std::size_t>(&step);
    at = index != nullptr ? &at->items[*index] : child_of(at, std::get<std::string>(step));
    if (at == nullptr) return nullptr;
  }
  return at;
}

bool is_called(const Node& element, const Member& member) {
  const Node* const name = child_of(&element, member.key);
  return name != nullptr && !member.name.empty() && name->text == member.name;
}

}  // namespace

bool is_element_text(const std::string& text) {
  return text.starts_with('{');
}

void check_value(const std::string& path, const Node& value) {
  const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
  const bool is_list = value.kind == Node::Kind::sequence;
  if (!(is_list ? std::all_of(value.items.begin(), value.items.end(), is_scalar)
                : is_scalar(value)))
    refuse_value(
        path, quoted(text_of(value)) + " is more than that; allowed: a value, or a list of values");
}

Node parse_value(const std::string& path, const std::string& text) {
  check_text(path, text, kMostValueBytes);
  const bool written = text.starts_with('[') || text.starts_with('"') || text.starts_with('\'');
  Node value = written ? parse_or_refuse(path, text) : scalar_of(text);
  check_value(path, value);
  take_out_of_files(value);
  return value;
}

Node parse_element(const Member& member, const std::string& text) {
  const std::string path =
      member.at ? item_path(member.path, *member.at) : child_path(member.path, member.name);
  check_text(path, text, kMostElementBytes);
  Node element = parse_or_refuse(path, text);
  if (element.kind != Node::Kind::mapping)
    refuse_value(path,
                 "is " + std::string(name_of(element.kind)) + "; allowed: a mapping, {KEY: VALUE}");
  take_out_of_files(element);
  const Node* const given = child_of(&element, member.key);
  if (member.at && given == nullptr)
    refuse_value(path, "has no " + quoted(member.key) + ", which names the element");
  if (!member.at && given != nullptr && given->text != member.name)
    refuse_value(path, "says " + member.key + ": " + given->text + "; allowed: " + member.name +
                           ", or nothing");
  if (given == nullptr)
    element.entries.insert(element.entries.begin(),
                           Entry{scalar_of(member.key), scalar_of(member.name)});
  return element;
}

Node with_element(const Document& document, const Place& place, Node value) {
  const std::string path = item_path(place.path, *place.element);
  if (value.kind != Node::Kind::scalar) refuse_value(path, "is one value, not a list");
  const Node* const there = value_at(document, place);
  Node list;
  if (there != nullptr) list = *there;
  if (there != nullptr && list.kind != Node::Kind::sequence && list.kind != Node::Kind::null)
    refuse_value(place.path, "is " + std::string(name_of(list.kind)) + "; set it as a whole");
  list.kind = Node::Kind::sequence;
  const std::size_t count = list.items.size();
  if (*place.element > count)
    refuse_value(path, "the list has " + std::to_string(count) + " elements, " + text_of(list) +
                           "; allowed: 0 to " + std::to_string(count) +
                           ", where the last adds one");
  if (*place.element == count) list.items.emplace_back();
  list.items[*place.element] = std::move(value);
  take_out_of_files(list);
  return list;
}

void put_value(Document& document, const Place& place, Node value) {
  reach(document, place.steps) = std::move(value);
}

void put_element(Document& document, const Member& member, Node element) {
  Node& list = reach(document, member.list);
  list.kind = Node::Kind::sequence;
  const auto there = std::find_if(list.items.begin(), list.items.end(),
                                  [&](const Node& item) { return is_called(item, member); });
  if (there != list.items.end()) {
    *there = std::move(element);
    return;
  }
  const std::size_t at = std::min(member.at.value_or(list.items.size()), list.items.size());
  list.items.insert(list.items.begin() + static_cast<std::ptrdiff_t>(at), std::move(element));
}

void remove_element(Document& document, const Member& member) {
  std::erase_if(reach(document, member.list).items,
                [&](const Node& item) { return is_called(item, member); });
}

const Node* value_at(const Document& document, const Place& place) {
  return look(document, place.steps);
}

const Node* element_at(const Document& document, const Member& member) {
  const Node* const list = look(document, member.list);
  if (list == nullptr) return nullptr;
  for (const Node& item : list->items)
    if (is_called(item, member)) return &item;
  return nullptr;
}

std::string text_of(const Node& value) {
  const bool is_text = value.kind == Node::Kind::scalar || value.kind == Node::Kind::null;
  return is_text ? value.text : flow_text(value);
}

}  // namespace tributary::config
