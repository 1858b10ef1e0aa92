// Column widths, alignment and cell texts.
#include "tools/client/control/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>

namespace tributary::client {
namespace {

// The last of the numbers from `at` on of which each is one more than the one before.
std::size_t end_of_run(const Json& list, std::size_t at) {
  const auto follows = [&](std::size_t i) {
    return list[i].is_number_unsigned() && list[i + 1].is_number_unsigned() &&
           list[i + 1].get<std::uint64_t>() == list[i].get<std::uint64_t>() + 1;
  };
  while (at + 1 < list.size() && follows(at)) ++at;
  return at;
}

std::string cell_text(const Json& value);

// "201:12.345": the values, in their order.
std::string fields_text(const Json& object) {
  std::string joined;
  for (const Json& value : object)
    joined.append(joined.empty() ? "" : ":").append(cell_text(value));
  return joined.empty() ? "-" : joined;
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>().empty() ? "-" : harmless(value);
  if (value.is_number_float()) {
    std::array<char, 64> text{};
    const double number = value.get<double>();
    // Zero shows as such, and what rounds to it does not.
    const bool tiny = number != 0 && std::abs(number) < 0.0005;
    std::snprintf(text.data(), text.size(), tiny ? "%.3g" : "%.3f", number);
    return text.data();
  }
  if (value.is_object()) return fields_text(value);
  if (!value.is_array())
    return harmless(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::string joined;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!joined.empty()) joined += ',';
    joined += cell_text(value[i]);
    const std::size_t last = end_of_run(value, i);
    if (last < i + 2) continue;
    joined += '-' + cell_text(value[last]);
    i = last;
  }
  return joined.empty() ? "-" : joined;
}

// Characters that take a column: all bytes but UTF-8's continuation bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80;
  }));
}

struct Column {
  std::string key;
  bool numeric = true;  // until a value is something else
  std::size_t width = 0;
  std::vector<std::string> cells;
};

std::vector<Column> columns_of(const Json& rows) {
  std::vector<Column> columns;
  for (const Json& row : rows) {
    if (!row.is_object()) throw std::runtime_error("the reply is not a list of objects");
    for (const auto& [key, value] : row.items())
      if (std::none_of(columns.begin(), columns.end(),
                       [&k = key](const Column& c) { return c.key == k; }))
        columns.push_back({key, true, width(harmless(key)), {}});
  }
  for (Column& column : columns) {
    for (const Json& row : rows) {
      const auto it = row.find(column.key);
      const Json value = it == row.end() ? Json() : *it;
      column.numeric = column.numeric && (value.is_number() || value.is_null());
      column.cells.push_back(cell_text(value));
      column.width = std::max(column.width, width(column.cells.back()));
    }
  }
  return columns;
}

void append_cell(std::string& line, const Column& column, const std::string& text) {
  if (!line.empty()) line += "  ";
  const std::string padding(column.width - width(text), ' ');
  line += column.numeric ? padding + text : text + padding;
}

void end_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

// No rank present, or no slot in use, is news.
bool is_quiet(const Column& column) {
  if (column.key == "present" || column.key == "slots_open") return false;
  return std::all_of(column.cells.begin(), column.cells.end(), [](const std::string& cell) {
    return cell == "0" || cell == "-" || cell == "none" || cell == "0.000";
  });
}

std::size_t width_of(const std::vector<Column>& columns) {
  std::size_t sum = 0;
  for (const Column& column : columns) sum += column.width + 2;
  return sum == 0 ? 0 : sum - 2;
}

// Takes columns that `may_go` from the last on, but not the first, until the rest fits.
template <typename MayGo>
void take_out(std::vector<Column>& columns, std::size_t most, std::vector<std::string>& taken,
              MayGo may_go) {
  for (std::size_t i = columns.size(); i-- > 1 && width_of(columns) > most;) {
    if (!may_go(columns[i])) continue;
    taken.push_back(columns[i].key);
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

std::string harmless(const std::string& text) {
  std::string out = text;
  for (char& c : out)
    if (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F) c = '?';
  return out;
}

std::vector<std::string> fit(Json& rows, std::size_t width) {
  std::vector<std::string> taken;
  if (!rows.is_array() || rows.empty()) return taken;
  std::vector<Column> columns = columns_of(rows);
  take_out(columns, width, taken, is_quiet);
  take_out(columns, width, taken, [](const Column& column) { return column.numeric; });
  for (Json& row : rows)
    for (const std::string& key : taken) row.erase(key);
  return taken;
}

Json with_columns(const Json& rows, std::span<const char* const> keys) {
  Json out = Json::array();
  for (const Json& row : rows) {
    Json picked = Json::object();
    for (const char* key : keys)
      if (row.contains(key)) picked[key] = row[key];
    out.push_back(picked);
  }
  return out;
}

std::string render_table(const Json& rows, const std::string& empty) {
  if (!rows.is_array()) throw std::runtime_error("the reply is not a list of objects");
  if (rows.empty()) return empty + '\n';
  const std::vector<Column> columns = columns_of(rows);
  std::string out;
  std::string heading;
  for (const Column& column : columns) append_cell(heading, column, harmless(column.key));
  end_line(out, heading);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (const Column& column : columns) append_cell(line, column, column.cells[r]);
    end_line(out, line);
  }
  return out;
}

}  // namespace tributary::client
