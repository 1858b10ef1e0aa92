// Where the manager's gRPC server listens: a unix socket, whose file permissions say who may
// (identity.h), and TCP with TLS in which both sides show certificates of one authority.
#pragma once

#include <memory>
#include <string>

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace tributary::manager {

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

// Starts a server of the services of `builder`; `port` becomes that of the address. Throws
// std::runtime_error when it cannot listen or read the files.
std::unique_ptr<grpc::Server> listen(grpc::ServerBuilder& builder, const ListenOptions& options,
                                     int& port);

}  // namespace tributary::manager
