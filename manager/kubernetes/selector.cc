#include "manager/kubernetes/selector.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace tributary::manager::kubernetes {
namespace {

constexpr std::size_t kMostTerms = 64;
constexpr std::array kFields = {"metadata.name",
                                "metadata.namespace",
                                "spec.nodeName",
                                "status.phase",
                                "spec.unschedulable",
                                "involvedObject.name",
                                "involvedObject.kind",
                                "involvedObject.namespace",
                                "involvedObject.uid",
                                "reason",
                                "type"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas outside parentheses.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view part = trimmed(text.substr(begin, i - begin));
    if (!part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

[[noreturn]] void fail(std::string_view text, const std::string& allowed) {
  throw Failure(400, "BadRequest",
                "selector '" + std::string(text) + "' is not understood; allowed: " + allowed);
}

std::string value_at(const Json& object, std::string_view path) {
  const Json* at = &object;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('.'), path.size());
    const auto next = at->find(std::string(path.substr(0, end)));
    if (next == at->end()) return "";
    at = &*next;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return at->is_string() ? at->get<std::string>() : at->is_boolean() ? at->dump() : "";
}

struct Comparison {
  std::string_view key;
  std::string_view value;
  bool wanted = true;
};

// KEY=VALUE, KEY==VALUE or KEY!=VALUE.
std::optional<Comparison> comparison_of(std::string_view text) {
  const std::size_t equal = text.find('=');
  if (equal == std::string_view::npos) return std::nullopt;
  const bool differs = equal > 0 && text[equal - 1] == '!';
  std::string_view value = text.substr(equal + 1);
  if (!differs && value.starts_with('=')) value.remove_prefix(1);
  return Comparison{trimmed(text.substr(0, differs ? equal - 1 : equal)), trimmed(value), !differs};
}

}  // namespace

Selector::Selector(const std::string& labels, const std::string& fields) {
  for (const std::string_view part : parts_of(labels)) add_label(part);
  for (const std::string_view part : parts_of(fields)) add_field(part);
  if (labels_.size() + fields_.size() > kMostTerms)
    fail(labels, "at most " + std::to_string(kMostTerms) + " terms");
}

void Selector::add_label(std::string_view text) {
  const char* const allowed = "KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (A, B), KEY notin (A, B)";
  if (const auto one = comparison_of(text)) {
    if (one->key.empty()) fail(text, allowed);
    return labels_.push_back({std::string(one->key), {std::string(one->value)}, one->wanted});
  }
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) {
    const bool absent = text.starts_with('!');
    const std::string_view key = trimmed(text.substr(absent ? 1 : 0));
    if (key.empty() || key.find(' ') != std::string_view::npos) fail(text, allowed);
    return labels_.push_back({std::string(key), {}, !absent});
  }
  const std::string_view head = trimmed(text.substr(0, open));
  const bool without = head.ends_with(" notin");
  if ((!without && !head.ends_with(" in")) || !text.ends_with(')')) fail(text, allowed);
  Term term{std::string(trimmed(head.substr(0, head.rfind(' ')))), {}, !without};
  for (const std::string_view value : parts_of(text.substr(open + 1, text.size() - open - 2)))
    term.values.emplace_back(value);
  if (term.key.empty() || term.values.empty()) fail(text, allowed);
  labels_.push_back(std::move(term));
}

void Selector::add_field(std::string_view text) {
  std::string allowed = "FIELD=VALUE and FIELD!=VALUE of";
  for (const char* field : kFields) allowed += std::string(" ") + field;
  const auto one = comparison_of(text);
  if (!one || std::find(kFields.begin(), kFields.end(), one->key) == kFields.end())
    fail(text, allowed);
  fields_.push_back({std::string(one->key), {std::string(one->value)}, one->wanted});
}

bool Selector::matches(const Json& object) const {
  static const Json none = Json::object();
  const Json metadata = object.value("metadata", none);
  const Json labels = metadata.value("labels", none);
  const auto fits = [](const Term& term, const std::string& value) {
    return std::find(term.values.begin(), term.values.end(), value) != term.values.end();
  };
  return std::all_of(labels_.begin(), labels_.end(),
                     [&](const Term& term) {
                       const auto at = labels.find(term.key);
                       const bool there = at != labels.end();
                       if (term.values.empty()) return there == term.wanted;
                       // As Kubernetes: what has no such label has none of the values.
                       const bool has = there && fits(term, at->get<std::string>());
                       return has == term.wanted;
                     }) &&
         std::all_of(fields_.begin(), fields_.end(), [&](const Term& term) {
           return fits(term, value_at(object, term.key)) == term.wanted;
         });
}

}  // namespace tributary::manager::kubernetes
