// A received frame as a front end hands it to the engines; they see nothing else of it.
#pragma once

#include <cstdint>

#include "core/endpoint.h"
#include "core/wire/header.h"

namespace tributary::dataplane {

struct Event {
  wire::Packet packet;            // its spans point into the frame
  Endpoint from;                  // well before it is compared: a wide load waits for narrow stores
  std::uint64_t arrived_tsc = 0;  // when the burst came that the frame was received with
};

}  // namespace tributary::dataplane
