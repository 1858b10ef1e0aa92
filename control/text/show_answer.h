// An answer of `show`: rows, and what is to be said besides them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tributary::control {

struct ShowAnswer {
  ShowAnswer(nlohmann::ordered_json rows) : data(std::move(rows)) {}  // with nothing besides

  nlohmann::ordered_json data;
  std::vector<std::string> notes;  // why the rows are not all that there is, a line each
};

}  // namespace tributary::control
