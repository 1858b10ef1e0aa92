// Where the manager's gRPC server listens: a unix socket, whose file permissions say who may
// (identity.h), and TCP with TLS in which both sides show certificates of one authority.
//
//   Listener ─▶ ConnectionGate ─▶ the library's server, once a client has sent its first bytes
//
// The library by itself makes a TLS session or an HTTP/2 transport for each connection, also for
// silent ones.
#pragma once

#include <memory>
#include <string>

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace tributary::manager {

class ConnectionGate;
class Listener;

// Paths of PEM files.
struct TlsFiles {
  std::string ca;           // the authority that signs the other side's certificate
  std::string certificate;  // own, with the chain
  std::string key;
};

// The text of a PEM file. Throws std::runtime_error: "--tls-ca is needed with --listen".
std::string read_pem(const char* option, const std::string& path, const char* needed_with);

struct ListenOptions {
  std::string socket;   // path; empty: none
  std::string address;  // HOST:PORT, port 0 is any; empty: none
  TlsFiles tls;         // needed with an address, and for kubectl
};

// A server that listens until it is destroyed; calls under way then have two seconds to end.
class Listening {
 public:
  // Starts a server of the services of `builder`. Throws std::runtime_error when it cannot listen
  // or read the files.
  Listening(grpc::ServerBuilder& builder, const ListenOptions& options);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  [[nodiscard]] int port() const;  // of the address; 0: none

 private:
  // Ended from the last to the first: the gate hands nothing over to a server that is gone.
  std::unique_ptr<Listener> unix_;
  std::unique_ptr<Listener> tcp_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionGate> gate_;
};

}  // namespace tributary::manager
