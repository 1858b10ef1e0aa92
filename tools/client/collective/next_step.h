// What to do about a rank's failure, beside its cause: for people at a terminal.
#pragma once

#include <string>

#include "worker/api/communicator.h"

namespace tributary::client {

// The failure's text, and behind it the next step where there is one.
std::string with_next_step(const CommunicatorError& failure);

}  // namespace tributary::client
