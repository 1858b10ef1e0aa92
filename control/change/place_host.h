// `place-host` on the control socket: a job's completion hosts are chosen anew, while its ops run
// (T11).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "control/change/request.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Throws std::invalid_argument that names job or host where there is none of that name, and
// std::runtime_error when the packet loop does not answer.
nlohmann::ordered_json place_hosts(dataplane::Switch& sw, const PlaceHostRequest& wish);

}  // namespace tributary::control
