// Paths of `tributary set`: which key, or which element of a list, of a document they name.
//
//   ports.w0.storm.broadcast    an element of a list, by its name, id, rank or mac
//   ports[0].storm.broadcast    or by its place, as errors and differences write it
//   jobs.1.deadline
//   ports.w0.vlan.allowed[1]    an element of a list of values; the list as a whole is
//                               overridden
//   jobs.7                      an element of a list of mappings as a whole; need not be there
//   acl.rules[0]                or the place at which it is to be
//
// In a topology the same paths name the keys of the document's own switch, and `jobs` the tree's;
// `switches.NAME.active_uplink` is the way up that any switch of the tree uses.
// Paths are untrusted text: bounded, and refused with a message.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/topology/document.h"

namespace tributary::config {

inline constexpr std::size_t kMostPathBytes = 256;

// A key that the schema knows, in one document.
struct Place {
  using Step = std::variant<std::string, std::size_t>;  // a key, an element

  std::string path;         // with names instead of indices; for a list, as a whole
  std::vector<Step> steps;  // from the top of the document
  std::string fallback;     // its default, for the operator
  std::optional<std::size_t> element = std::nullopt;  // of the list there
};

// An element of a list of mappings, there or not.
struct Member {
  std::string path;               // of the list
  std::vector<Place::Step> list;  // from the top of the document
  std::string key;                // that tells elements apart: "id"
  std::string name;               // what it says; empty: the path names a place, and none is there
  std::optional<std::size_t> at = std::nullopt;  // the place that the path names
};

// "jobs.7"
std::string path_of(const Member& member);

// The value under a key of a mapping; nullptr: none, or it is no mapping.
const Node* child_of(const Node* node, const std::string& key);

// Each throws std::invalid_argument with what is wrong, and what is allowed.
Place find_place(const Document& document, const std::string& path);
Member find_member(const Document& document, const std::string& path);

}  // namespace tributary::config
