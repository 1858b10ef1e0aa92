// Sums up the rows of `show slots`: a window of waiting chunks is hundreds of them, which mostly
// wait for the same ranks.
#pragma once

#include "tools/client/control/table.h"

namespace tributary::client {

// A row for the chunks of one job, plane, op and state: how many they are, the age of the oldest,
// and the ranks that any of them lacks. In the order in which they first come. Rows that are no
// such chunks stay as they are.
Json sum_up_slots(const Json& rows);

}  // namespace tributary::client
