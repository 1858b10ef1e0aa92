// Offloads of a kernel interface that change frames on their way to a packet socket.
#pragma once

#include <string>

namespace tributary::dataplane {

// Received frames of a flow are merged into longer ones: GRO or LRO is on. False, too, where the
// system does not say.
bool merges_frames(const std::string& interface);

}  // namespace tributary::dataplane
