#include "config/change/override.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "config/schema/schema.h"
#include "config/text/field.h"
#include "config/text/read_context.h"

namespace tributary::config {
namespace {

constexpr Mark kNowhere = {0, 0};  // in no file
// The keys that identify the elements of a list, the most reliable first.
constexpr std::array<const char*, 4> kNaming = {"id", "name", "rank", "mac"};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

const Node* child_of(const Node* node, const std::string& key) {
  if (node == nullptr) return nullptr;
  for (const Entry& entry : node->entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

// Names of the keys directly below a path of the schema.
std::vector<std::string> keys_below(const std::vector<KeyInfo>& schema, const std::string& path) {
  std::vector<std::string> names;
  const std::string prefix = path.empty() ? "" : path + ".";
  for (const KeyInfo& key : schema)
    if (key.path.starts_with(prefix) &&
        key.path.find_first_of(".[", prefix.size()) == std::string::npos)
      names.push_back(key.path.substr(prefix.size()));
  return names;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

std::optional<std::size_t> index_of_switch(const Document& document, const std::string& called) {
  const Node* const switches = child_of(&document.root, "switches");
  for (std::size_t i = 0; switches != nullptr && i < switches->items.size(); ++i)
    if (const Node* const name = child_of(&switches->items[i], "name"))
      if (name->text == called) return i;
  return std::nullopt;
}
// The index of the document's own switch in a topology.
std::optional<std::size_t> index_of_node(const Document& document) {
  return index_of_switch(document, document.node);
}

// Walks down the schema and the document together, as far as the document goes.
class Walk {
 public:
  Walk(const Document& document, std::string_view path) : document_(document), rest_(path) {}

  Place run() {
    while (!rest_.empty() && !element_) step();
    if (info_ == nullptr) refuse(shown_, "is no key");
    if (info_->type == "mapping" || !keys_below(schema_, below_).empty())
      refuse(shown_, "holds other keys; name one of them: " + listed(names_below()));
    return {shown_, std::move(steps_), info_->fallback, element_};
  }

 private:
  void step() {
    const std::string key(rest_.substr(0, rest_.find_first_of(".[")));
    const std::vector<std::string> known = keys_below(schema_, below_);
    if (known.empty()) refuse(shown_, "has no keys of its own");
    if (std::find(known.begin(), known.end(), key) == known.end())
      refuse(child_path(shown_, printable_key(key)), unknown_key_message(key, known));
    if (in_element_ && std::find(kNaming.begin(), kNaming.end(), key) != kNaming.end())
      refuse(child_path(shown_, key), "tells the elements apart; only the file changes it");
    rest_.remove_prefix(key.size());
    below_ = child_path(below_, key);
    shown_ = child_path(shown_, key);
    info_ = &*std::find_if(schema_.begin(), schema_.end(),
                           [this](const KeyInfo& info) { return info.path == below_; });
    enter(key);
    in_element_ = info_->type == "list" && !keys_below(schema_, below_ + "[]").empty();
    if (in_element_) enter_element();
    if (rest_.starts_with('[')) return take_element();
    if (rest_.starts_with('.')) rest_.remove_prefix(1);
  }
  // Takes an element of a list of values, which may be longer than the document's list.
  void take_element() {
    if (info_->type != "list") refuse(shown_, "is no list; it is set as a whole");
    const auto index = bracketed();
    if (!index || index->second != rest_.size())
      refuse(shown_, "has no " + quoted(rest_) + "; allowed behind it: [0], [1] and so on");
    element_ = index->first;
  }

  // In a topology, the switch's own keys are below its list element.
  void enter(const std::string& key) {
    if (!steps_.empty() || document_.node.empty() || key == "jobs") return go(key);
    const auto index = index_of_node(document_);
    if (!index) refuse(shown_, "the document has no switch " + quoted(document_.node));
    go("switches");
    go(*index);
    if (key != "switch") go(key);
  }
  void go(const std::string& key) {
    if (steps_.empty()) at_ = &document_.root;
    at_ = child_of(at_, key);
    steps_.emplace_back(key);
  }
  void go(std::size_t index) {
    at_ = &at_->items[index];
    steps_.emplace_back(index);
  }

  [[nodiscard]] std::size_t elements() const { return at_ == nullptr ? 0 : at_->items.size(); }
  [[nodiscard]] std::string name_of_element(std::size_t index) const {
    for (const char* const key : kNaming)
      if (const Node* const name = child_of(&at_->items[index], key)) return name->text;
    return item_path("", index);
  }
  [[nodiscard]] std::vector<std::string> names_below() const {
    if (!in_element_) return keys_below(schema_, below_);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < elements(); ++i) names.push_back(name_of_element(i));
    return names;
  }

  // "w0" of "w0.storm". Names may contain dots: the longest match counts. Also takes "[3]".
  void enter_element() {
    const auto found = rest_.starts_with('[') ? by_place() : by_name();
    if (!found) {
      const std::string name(rest_.substr(rest_.starts_with('.') ? 1 : 0));
      const std::string wrong = rest_.empty() ? "is a list" : "has no " + quoted(name);
      refuse(shown_, wrong + "; name one of its elements: " +
                         (elements() == 0 ? "there are none" : listed(names_below())));
    }
    rest_.remove_prefix(found->second);
    const std::string name = name_of_element(found->first);
    shown_ = name.starts_with('[') ? shown_ + name : child_path(shown_, name);
    go(found->first);
    below_ += "[]";
    if (rest_.empty())
      refuse(shown_, "holds other keys; name one of them: " + listed(keys_below(schema_, below_)));
  }
  using Found = std::optional<std::pair<std::size_t, std::size_t>>;  // index, and bytes of its name
  [[nodiscard]] Found by_place() const {
    const Found found = bracketed();
    if (!found || found->first >= elements()) return {};
    const std::string_view behind = rest_.substr(found->second);
    return behind.empty() || behind.starts_with('.') ? found : Found();
  }
  // Takes "[3]" at the front of the rest.
  [[nodiscard]] Found bracketed() const {
    std::size_t index = 0;
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data() + 1, end, index);
    if (error != std::errc() || stop == end || *stop != ']') return {};
    return std::pair(index, static_cast<std::size_t>(stop + 1 - rest_.data()));
  }
  [[nodiscard]] Found by_name() const {
    Found best;
    for (const char* const key : kNaming) {
      for (std::size_t i = 0; i < elements(); ++i) {
        const Node* const name = child_of(&at_->items[i], key);
        if (name == nullptr || name->text.empty() || !is_next(name->text)) continue;
        if (!best || name->text.size() + 1 > best->second) best = {i, name->text.size() + 1};
      }
    }
    return best;
  }
  [[nodiscard]] bool is_next(const std::string& name) const {
    if (!rest_.starts_with('.') || !rest_.substr(1).starts_with(name)) return false;
    return rest_.size() == name.size() + 1 || rest_[name.size() + 1] == '.';
  }

  const Document& document_;
  std::string_view rest_;  // of the path
  const std::vector<KeyInfo> schema_ = describe_schema();
  std::string below_;  // so far, in the schema's form
  std::string shown_;  // so far, in the user's form
  std::vector<Place::Step> steps_;
  const Node* at_ = nullptr;  // position in the document; nullptr: the document leaves it out
  const KeyInfo* info_ = nullptr;
  bool in_element_ = false;  // of a list of mappings
  std::optional<std::size_t> element_;
};

void take_out_of_files(Node& node) {
  node.mark = kNowhere;
  for (Node& item : node.items) item.mark = kNowhere;
}

// The index of the switch in "switches.NAME", which ends at `end`. nullopt: the key has another
// form. Throws where there is no such switch.
std::optional<std::size_t> switch_named(const Document& document, std::string_view path,
                                        std::size_t end) {
  constexpr std::string_view kBefore = "switches.";
  if (!path.starts_with(kBefore) || end <= kBefore.size()) return std::nullopt;
  const std::string name(path.substr(kBefore.size(), end - kBefore.size()));
  const auto index = index_of_switch(document, name);
  if (!index) refuse(std::string(path), "the document has no switch " + quoted(name));
  return index;
}

// "switches.NAME.active_uplink": which way up it uses.
std::optional<Place> find_active_uplink(const Document& document, std::string_view path) {
  constexpr std::string_view kUplink = ".active_uplink";
  if (!path.ends_with(kUplink)) return std::nullopt;
  const auto index = switch_named(document, path, path.size() - kUplink.size());
  if (!index) return std::nullopt;
  const Node* const uplink =
      child_of(&child_of(&document.root, "switches")->items[*index], "uplink");
  return Place{std::string(path),
               {"switches", *index, "active_uplink"},
               uplink != nullptr ? uplink->text : "none"};
}

// "switches.NAME.ports.PORT.paths": which traffic leaves it there.
std::optional<Place> find_paths_of(const Document& document, std::string_view path) {
  constexpr std::string_view kPorts = ".ports.";
  constexpr std::string_view kPaths = ".paths";
  const std::size_t ports = path.find(kPorts);
  if (!path.ends_with(kPaths) || ports == std::string_view::npos ||
      path.size() <= ports + kPorts.size() + kPaths.size())
    return std::nullopt;
  const auto index = switch_named(document, path, ports);
  if (!index) return std::nullopt;
  if (index == index_of_node(document))
    return Walk(document, std::string(path.substr(ports + 1))).run();
  const Node& sw = child_of(&document.root, "switches")->items[*index];
  const std::size_t at = ports + kPorts.size();
  const std::string port(path.substr(at, path.size() - kPaths.size() - at));
  const Node* const list = child_of(&sw, "ports");
  for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i)
    if (const Node* const called = child_of(&list->items[i], "name");
        called != nullptr && called->text == port)
      return Place{std::string(path), {"switches", *index, "ports", i, "paths"}, "none"};
  refuse(std::string(path),
         "switch " + child_of(&sw, "name")->text + " has no port " + quoted(port));
}

// Keys of one switch that all switches of a tree have to be told.
std::optional<Place> find_of_any_switch(const Document& document, std::string_view path) {
  if (document.node.empty()) return std::nullopt;
  if (auto place = find_active_uplink(document, path)) return place;
  return find_paths_of(document, path);
}

}  // namespace

Place find_place(const Document& document, const std::string& path) {
  if (path.empty() || path.size() > kMostPathBytes)
    throw std::invalid_argument("a path of " + std::to_string(path.size()) +
                                " bytes; allowed: 1 to " + std::to_string(kMostPathBytes) +
                                ", such as ports.NAME.mtu");
  if (auto place = find_of_any_switch(document, path)) return *std::move(place);
  return Walk(document, path).run();
}

Node parse_value(const std::string& path, const std::string& text) {
  if (text.size() > kMostValueBytes)
    refuse(path, "a value of " + std::to_string(text.size()) + " bytes; allowed: at most " +
                     std::to_string(kMostValueBytes));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), is_control))
    refuse(path, quoted(text) + " has control characters; allowed: text on one line");
  Node value;
  value.kind = Node::Kind::scalar;
  value.text = text;
  const bool written = text.starts_with('[') || text.starts_with('"') || text.starts_with('\'');
  if (written) try {
      value = parse_yaml(text);
    } catch (const YamlError& error) {
      refuse(path, quoted(text) + " " + error.what());
    }
  const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
  const bool is_list = value.kind == Node::Kind::sequence;
  if (!(is_list ? std::all_of(value.items.begin(), value.items.end(), is_scalar)
                : is_scalar(value)))
    refuse(path, quoted(text) + " is more than that; allowed: a value, or a list of values");
  take_out_of_files(value);
  return value;
}

Node with_element(const Document& document, const Place& place, Node value) {
  const std::string path = item_path(place.path, *place.element);
  if (value.kind != Node::Kind::scalar) refuse(path, "is one value, not a list");
  const Node* const there = value_at(document, place);
  Node list;
  if (there != nullptr) list = *there;
  if (there != nullptr && list.kind != Node::Kind::sequence && list.kind != Node::Kind::null)
    refuse(place.path, "is " + std::string(name_of(list.kind)) + "; set it as a whole");
  list.kind = Node::Kind::sequence;
  const std::size_t count = list.items.size();
  if (*place.element > count)
    refuse(path, "the list has " + std::to_string(count) + " elements, " + text_of(list) +
                     "; allowed: 0 to " + std::to_string(count) + ", where the last adds one");
  if (*place.element == count) list.items.emplace_back();
  list.items[*place.element] = std::move(value);
  take_out_of_files(list);
  return list;
}

void put_value(Document& document, const Place& place, Node value) {
  Node* at = &document.root;
  for (const Place::Step& step : place.steps) {
    if (const auto* const index = std::get_if<std::size_t>(&step)) {
      at = &at->items[*index];
      continue;
    }
    const auto& key = std::get<std::string>(step);
    auto found = std::find_if(at->entries.begin(), at->entries.end(),
                              [&](const Entry& entry) { return entry.key.text == key; });
    if (found == at->entries.end()) {
      at->kind = Node::Kind::mapping;  // it may have been null
      Node name;
      name.kind = Node::Kind::scalar;
      name.text = key;
      name.mark = kNowhere;
      found = at->entries.insert(found, Entry{std::move(name), {}});
      found->value.mark = kNowhere;
    }
    at = &found->value;
  }
  *at = std::move(value);
}

const Node* value_at(const Document& document, const Place& place) {
  const Node* at = &document.root;
  for (const Place::Step& step : place.steps) {
    const auto* const index = std::get_if<std::size_t>(&step);
    at = index != nullptr ? &at->items[*index] : child_of(at, std::get<std::string>(step));
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string text_of(const Node& value) {
  if (value.kind != Node::Kind::sequence) return value.text;
  std::string text;
  for (const Node& item : value.items) text.append(text.empty() ? "" : ", ").append(item.text);
  return "[" + text + "]";
}

}  // namespace tributary::config
