// Lists of flat JSON objects as an aligned table for terminals.
//
// Columns are the objects' keys in order of first appearance; numbers align right. The values may
// have come over a socket from anything: control characters never reach the terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tributary::client {

using Json = nlohmann::ordered_json;

// Without control characters.
std::string harmless(const std::string& text);

// One line a row, a heading line first; `empty` alone when there are no rows. Throws
// std::runtime_error when `rows` is not a list of objects.
std::string render_table(const Json& rows, const std::string& empty = "(none)");

}  // namespace tributary::client
