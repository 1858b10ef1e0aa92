// Replaces single keys of a document, named by the paths of `tributary set`:
//
//   ports.w0.storm.broadcast    an element of a list, by its name, id, rank or mac
//   ports[0].storm.broadcast    or by its place, as errors and differences write it
//   jobs.1.deadline
//   ports.w0.vlan.allowed[1]    an element of a list of values; the list as a whole is
//                               overridden
//
// In a topology the same paths name the keys of the document's own switch, and `jobs` the tree's;
// `switches.NAME.active_uplink` is the way up that any switch of the tree uses.
// Paths and values are untrusted text: bounded, and refused with a message. Values are checked as
// in a file, by reading the whole document.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/topology/document.h"

namespace tributary::config {

inline constexpr std::size_t kMostPathBytes = 256;
inline constexpr std::size_t kMostValueBytes = 1024;

// A key that the schema knows, in one document.
struct Place {
  using Step = std::variant<std::string, std::size_t>;  // a key, an element

  std::string path;         // with names instead of indices; for a list, as a whole
  std::vector<Step> steps;  // from the top of the document
  std::string fallback;     // its default, for the operator
  std::optional<std::size_t> element = std::nullopt;  // of the list there
};

// Each throws std::invalid_argument with what is wrong, and what is allowed.
Place find_place(const Document& document, const std::string& path);
// Parses one value, or a list of them in brackets, as in a file. `path` is for the error.
Node parse_value(const std::string& path, const std::string& text);
// The list at `place` in the document, with `value` as the element that the place names; appended,
// if that is the next element.
Node with_element(const Document& document, const Place& place, Node value);

// Creates the mappings and lists around it that the document lacks.
void put_value(Document& document, const Place& place, Node value);
// nullptr if the document leaves it out.
const Node* value_at(const Document& document, const Place& place);
// The value as in a file, on one line.
std::string text_of(const Node& value);

}  // namespace tributary::config
