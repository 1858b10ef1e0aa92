#include "manager/pods/names.h"

#include <algorithm>

namespace tributary::manager {

bool is_name(std::string_view name) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  const auto is_end = [](char c) { return c != '-' && c != '.'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), is_inner) &&
         is_end(name.front()) && is_end(name.back());
}

}  // namespace tributary::manager
