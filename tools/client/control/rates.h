// How fast the numbers of a table grow, between two looks at it.
#pragma once

#include "tools/client/control/table.h"

namespace tributary::client {

// `now`, where every whole number that has grown since `before`, `seconds` ago, is a text: the
// number and its growth a second, "1200 +50/s". Rows are compared with those at the same place, if
// their first values and all their texts are equal; other rows, and what is no list of rows, stay
// as they are.
Json with_rates(const Json& before, const Json& now, double seconds);

}  // namespace tributary::client
