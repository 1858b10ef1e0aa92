// Removes the socket file that a killed predecessor left behind.
//
// A server of memif or vhost-user refuses to start while its socket's file exists, and a process
// that was killed cannot remove it: without this, a switch could not be restarted after a crash.
#pragma once

#include <string>

namespace tributary::dataplane {

// Unlinks `path` if it is a Unix socket that no process has open; anything else stays. A living
// server, this process included, notices nothing. Returns whether the file was removed.
bool remove_stale_socket(const std::string& path);

}  // namespace tributary::dataplane
