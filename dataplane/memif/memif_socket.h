// The Unix sockets of memif: packets of one message each, with up to one descriptor.
#pragma once

#include <string>

#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_format.h"

namespace tributary::dataplane {

// Bound, and not listening yet; without waiting. Throws std::system_error.
worker::FileDescriptor bind_memif_socket(const std::string& path, bool abstract);

enum class MemifReceived : std::uint8_t {
  message,
  nothing,   // none is there
  ended,     // the peer has gone
  nonsense,  // not as long as a message is, or with several descriptors
};
// Without waiting.
MemifReceived receive_memif(int socket, worker::memif::Message& message,
                            worker::FileDescriptor& passed);
// Without waiting. False: the peer has gone, or does not read. `passed`: a descriptor; < 0: none.
bool send_memif(int socket, const worker::memif::Message& message, int passed = -1);

}  // namespace tributary::dataplane
