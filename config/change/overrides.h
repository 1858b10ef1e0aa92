// Everything that overrides a switch's file, in the order in which it was said, and the file that
// keeps it:
//
//   - {path: ports.w0.storm.broadcast, value: 1000}
//   - {path: jobs.7, element: {id: 7, workers: 2}}
//   - {path: acl.rules.lab, element: {name: lab, action: deny}, at: 0}
//   - {path: jobs.1, removed: true}
//
// Later ones may be of what earlier ones have added. One that a document, or the manager, leaves no
// place for is set aside: it is kept, and tried again with the next document.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/change/override.h"

namespace tributary::config {

inline constexpr std::size_t kMostOverrides = 256;

struct Override {
  enum class Kind { value, element, removal };

  std::string path;  // as find_place() has it, or of an element
  Kind kind = Kind::value;
  Node value = {};                               // none of a removal
  std::optional<std::size_t> at = std::nullopt;  // where a new element comes
  std::string aside = {};                        // why it is not in force; empty: it is
};
using Overrides = std::vector<Override>;

// "1000"; "removed"
std::string text_of(const Override& override);
// The text of a key or an element in a document; nullopt: it says nothing.
std::optional<std::string> said_in(const Document& document, const Override& override);
// "7"; "300s (default)"; "none"
std::string text_in(const Document& document, const Override& override);

// Puts one into the document. Throws std::invalid_argument.
void apply(Document& document, const Override& override);
// Puts all that are not set aside into the document. Throws std::invalid_argument.
Document overridden(Document document, const Overrides& overrides);

// Tries all of them, and sets aside those that find no place in the document, those that `judge`
// refuses it with, by throwing, and, beside an assigned document, those of its keys. `judge` takes
// the document alone.
using Judge = std::function<void(const Document& document)>;
void settle(const Document& document, bool is_assigned, const Judge& judge, Overrides& overrides);

// Throws YamlError.
Overrides parse_overrides(std::string_view text);
std::string dump(const Overrides& overrides);

}  // namespace tributary::config
