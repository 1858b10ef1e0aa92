// Checks the dates of the own certificate: a peer that refuses it says no more than that the
// handshake failed.
#pragma once

#include <string>

namespace tributary::manager {

// Checks the first certificate in a PEM file. Throws std::runtime_error: "client.pem: expired at
// ...".
void check_certificate(const std::string& path);

}  // namespace tributary::manager
