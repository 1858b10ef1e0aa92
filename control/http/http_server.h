// A small HTTP server for scrapes and probes: GET and HEAD of a few paths, one thread, which no
// silent, slow or dripping connection holds up or locks out (http_connections.h).
//
// Over libmicrohttpd. Pages are made on the server's thread, one at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/http/http_connections.h"

namespace tributary::control {

struct HttpPage {
  unsigned status = 200;
  std::string content_type;
  std::string body;
};

// Behind the '?' of a request, decoded. Of a name that comes twice, the latter value.
using HttpQuery = std::map<std::string, std::string>;

class HttpServer {
 public:
  // By path, such as "/metrics". One that throws std::invalid_argument is answered with 400 and
  // what it says, one that throws another exception with 500.
  using Pages = std::map<std::string, std::function<HttpPage(const HttpQuery&)>>;

  // LISTEN is IPV4:PORT or [IPV6]:PORT; port 0 takes any that is free. Throws std::runtime_error
  // "LISTEN: cannot bind: why".
  HttpServer(const std::string& listen, Pages pages, const HttpConnections::Limits& limits = {});
  // Open connections are closed.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const;  // the one bound

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tributary::control
