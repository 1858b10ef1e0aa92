// Single keys of a document that are to say something else, as `tributary set` names them:
//
//   ports.w0.storm.broadcast    an element of a list by its name, id, rank or mac
//   ports[0].storm.broadcast    or by its place, as errors and differences write it
//   jobs.1.deadline
//   ports.w0.vlan.allowed[1]    an element of a list of values; what comes to say something else is
//                               the list
//
// In a topology the same paths mean the keys of the document's own switch, and `jobs` the tree's.
// Paths and values are a stranger's text: bounded, and refused in words. Which values make sense is
// found out as for a file, by reading the whole document.
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

  std::string path;         // with names in the place of indices; of a list, whole
  std::vector<Step> steps;  // from the top of the document
  std::string fallback;     // what it is when it is left out, for people
  std::optional<std::size_t> element = std::nullopt;  // of the list there
};

// Each throws std::invalid_argument that says what is wrong, and what is allowed.
Place find_place(const Document& document, const std::string& path);
// One value, or a list of them in brackets, as in a file. `path` is for the error.
Node parse_value(const std::string& path, const std::string& text);
// The list at `place` as the document has it, with that value as the element that the place names;
// or as one more, where that is the next.
Node with_element(const Document& document, const Place& place, Node value);

// Makes what is around it where the document lacks it.
void put_value(Document& document, const Place& place, Node value);
// nullptr: the document leaves it out.
const Node* value_at(const Document& document, const Place& place);
// As a file would have it, on one line.
std::string text_of(const Node& value);

}  // namespace tributary::config
