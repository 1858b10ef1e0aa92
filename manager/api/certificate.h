// Checks files of TLS: a peer that refuses a certificate says no more than that the handshake
// failed, and gRPC not even that of files that it cannot use.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::manager {

struct Validity {
  std::int64_t days = 0;  // from now on, whole ones; below zero: it ended so long ago
  std::string until;
};

// Reads the first certificate in a PEM file. Throws std::runtime_error: "client.pem: is no
// certificate in PEM".
Validity validity_of(const std::string& path);

// Checks the first certificate in a PEM file. Throws std::runtime_error: "client.pem: expired at
// ...".
void check_certificate(const std::string& path);

// Checks files that a server takes. Throws std::runtime_error: "ca.pem: is no certificate in PEM",
// "server.key: is no private key in PEM" or "server.key: is not the key of server.pem".
void check_tls_files(const std::string& ca, const std::string& certificate, const std::string& key);

}  // namespace tributary::manager
