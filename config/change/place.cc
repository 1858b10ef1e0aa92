#include "config/change/place.h"

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

const Node* child_of(const Node* node, const std::string& key) {
  if (node == nullptr) return nullptr;
  for (const Entry& entry : node->entries)
    if (entry.key.text == key) return &entry.value;
  return nullptr;
}

namespace {

// The keys that identify the elements of a list, the most reliable first.
constexpr std::array<const char*, 4> kNaming = {"id", "name", "rank", "mac"};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
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

  Place find_key() {
    while (!rest_.empty() && !element_) step();
    if (info_ == nullptr) refuse(shown_, "is no key");
    if (info_->type == "mapping" || !keys_below(schema_, below_).empty())
      refuse(shown_, "holds other keys; name one of them: " + listed(names_below()));
    return {shown_, std::move(steps_), info_->fallback, element_};
  }
  Member find_member() {
    member_.emplace();
    while (!rest_.empty()) step();
    if (member_->key.empty())
      refuse(shown_, "is no element of a list of mappings; allowed: such as jobs.7 or ports.w3");
    return *std::move(member_);
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

  // Takes the rest, if that is an element of the list as a whole, there or not.
  bool take_member() {
    const auto found = rest_.starts_with('[') ? bracketed() : by_name();
    if (rest_.size() < 2 || (found && found->second < rest_.size())) return false;
    const auto keys = keys_below(schema_, below_ + "[]");
    const auto* const naming = std::find_if(kNaming.begin(), kNaming.end(), [&](const char* key) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
    if (naming == kNaming.end())
      refuse(shown_, "has elements without names; only the file adds and removes them");
    Member& member = *member_;
    member = {shown_, steps_, *naming, std::string(rest_.substr(1))};
    if (rest_.starts_with('[')) {
      if (!found || found->first > elements())
        refuse(shown_, "has " + std::to_string(elements()) +
                           " elements; allowed behind it: [0] to [" + std::to_string(elements()) +
                           "]");
      member.at = found->first;
      member.name.clear();
    }
    if (found && found->first < elements())
      if (const Node* const name = child_of(&at_->items[found->first], member.key))
        member.name = name->text;
    rest_ = {};
    return true;
  }
  // "w0" of "w0.storm". Names may contain dots: the longest match counts. Also takes "[3]".
  void enter_element() {
    if (member_ && take_member()) return;
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
  std::optional<Member> member_;  // is looked for
};

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
    return Walk(document, std::string(path.substr(ports + 1))).find_key();
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

void check_length(const std::string& path) {
  if (path.empty() || path.size() > kMostPathBytes)
    throw std::invalid_argument("a path of " + std::to_string(path.size()) +
                                " bytes; allowed: 1 to " + std::to_string(kMostPathBytes) +
                                ", such as ports.NAME.mtu");
}

}  // namespace

Place find_place(const Document& document, const std::string& path) {
  check_length(path);
  if (auto place = find_of_any_switch(document, path)) return *std::move(place);
  return Walk(document, path).find_key();
}

std::string path_of(const Member& member) {
  return child_path(member.path, member.name);
}

Member find_member(const Document& document, const std::string& path) {
  check_length(path);
  return Walk(document, path).find_member();
}

}  // namespace tributary::config
