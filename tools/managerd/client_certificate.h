// The identity in the certificate of the other end of a TLS session (manager/api/identity.h).
#pragma once

#include <string>

#include "manager/api/identity.h"

struct gnutls_session_int;

namespace tributary::managerd {

struct Caller {
  manager::Identity identity;
  std::string problem;  // why there is none; empty: there is one
};

// The certificate has to be signed by the session's authority, for clients, and valid now.
Caller caller_of(gnutls_session_int* session);

}  // namespace tributary::managerd
