// Names of pods, groups, containers and nodes: as DNS has them.
#pragma once

#include <string_view>

namespace tributary::manager {

inline constexpr const char* kAllowedNames =
    "1 to 63 of a-z, 0-9, '-' and '.', with a letter or digit at both ends";

bool is_name(std::string_view name);

}  // namespace tributary::manager
