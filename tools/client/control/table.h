// Lists of flat JSON objects as an aligned table for terminals.
//
// Columns are the objects' keys in order of first appearance; numbers align right. The values may
// have come over a socket from anything: control characters never reach the terminal.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace tributary::client {

using Json = nlohmann::ordered_json;

// Without control characters.
std::string harmless(const std::string& text);

// Columns of a usual terminal.
inline constexpr std::size_t kUsualWidth = 120;
// Takes columns out of rows whose table is wider than `width`, and returns their keys: first, from
// the last on, those that are 0 or absent in all rows; then other numbers. Texts and the first
// column stay.
std::vector<std::string> fit(Json& rows, std::size_t width);
// Rows with these columns alone, in this order.
Json with_columns(const Json& rows, std::span<const char* const> keys);

// One line a row, a heading line first; `empty` alone when there are no rows. Throws
// std::runtime_error when `rows` is not a list of objects.
std::string render_table(const Json& rows, const std::string& empty = "(none)");

}  // namespace tributary::client
