#include "manager/api/listen.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "config/text/file.h"
#include "manager/api/certificate.h"
#include "manager/listen/connection_gate.h"
#include "manager/listen/listener.h"

namespace tributary::manager {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

constexpr int kGreetingMs = 5000;  // for TLS and HTTP/2's first frames, from the gate on
constexpr std::chrono::seconds kLastAnswers{2};  // for calls under way when the server ends

std::shared_ptr<grpc::ServerCredentials> tls_credentials(const TlsFiles& files) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = read_pem("--tls-ca", files.ca, "--listen");
  options.pem_key_cert_pairs = {{read_pem("--tls-key", files.key, "--listen"),
                                 read_pem("--tls-cert", files.certificate, "--listen")}};
  check_tls_files(files.ca, files.certificate, files.key);
  return grpc::SslServerCredentials(options);
}

// The connections of `listener`, for the server that `builder` makes.
ConnectionGate::Door door_of(const Listener& listener, Protocol protocol,
                             grpc::ServerBuilder& builder,
                             const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  const std::shared_ptr<Acceptor> acceptor =
      builder.experimental().AddExternalConnectionAcceptor(Type::FROM_FD, credentials);
  return {listener.sockets(), protocol, [acceptor](int from, int connection) {
            Acceptor::NewConnectionParameters made;
            made.listener_fd = from;
            made.fd = connection;
            acceptor->HandleNewConnection(&made);
          }};
}

}  // namespace

std::string read_pem(const char* option, const std::string& path, const char* needed_with) {
  if (path.empty())
    throw std::runtime_error(std::string(option) + " is needed with " + needed_with);
  return config::read_file(path);
}

Listening::Listening(grpc::ServerBuilder& builder, const ListenOptions& options) {
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kGreetingMs);
  // Clients ask whether this one is there still (channel.cc) also while a watch has no news.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  std::vector<ConnectionGate::Door> doors;
  if (!options.socket.empty()) {
    unix_ = std::make_unique<Listener>(Listener::at_path(options.socket));
    doors.push_back(door_of(*unix_, Protocol::http2, builder, grpc::InsecureServerCredentials()));
  }
  if (!options.address.empty()) {
    const auto credentials = tls_credentials(options.tls);
    tcp_ = std::make_unique<Listener>(Listener::at_address(options.address));
    doors.push_back(door_of(*tcp_, Protocol::tls, builder, credentials));
  }
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("gRPC's server does not start");
  gate_ = std::make_unique<ConnectionGate>(std::move(doors));
}

Listening::~Listening() {
  gate_.reset();
  // Streams end by themselves now; a call that waits for the store still gets its answer.
  server_->Shutdown(std::chrono::system_clock::now() + kLastAnswers);
  server_->Wait();
}

int Listening::port() const {
  return tcp_ ? tcp_->port() : 0;
}

}  // namespace tributary::manager
