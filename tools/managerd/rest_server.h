// Kubernetes' REST interface over HTTPS: every caller shows an operator's certificate.
//
//   libmicrohttpd: a thread for each connection ─▶ certificate ─▶ kubernetes::Api
//                                                                    └─▶ a watch: lines until it
//                                                                    ends
//
// Bounded: connections and the time of a request (connection_acceptor.h), and the bytes of a body.
#pragma once

#include <memory>
#include <string>

#include "manager/api/server.h"
#include "manager/kubernetes/api.h"

namespace tributary::managerd {

class RestServer {
 public:
  static constexpr std::size_t kMostBodyBytes = 1 << 20;

  // LISTEN as ListeningSocket's. Serves until it is destroyed; `api`'s pods have to be stopped
  // before, or watches hold it up. Throws std::runtime_error.
  RestServer(const std::string& listen, const manager::TlsFiles& tls,
             manager::kubernetes::Api& api);
  ~RestServer();
  RestServer(const RestServer&) = delete;
  RestServer& operator=(const RestServer&) = delete;

  [[nodiscard]] int port() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace tributary::managerd
