#include "manager/api/listen.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <stdexcept>

#include "config/text/file.h"

namespace tributary::manager {
namespace {

constexpr int kGreetingMs = 5000;  // for TLS and HTTP/2's first frames

std::shared_ptr<grpc::ServerCredentials> tls_credentials(const TlsFiles& files) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = read_pem("--tls-ca", files.ca, "--listen");
  options.pem_key_cert_pairs = {{read_pem("--tls-key", files.key, "--listen"),
                                 read_pem("--tls-cert", files.certificate, "--listen")}};
  return grpc::SslServerCredentials(options);
}

}  // namespace

std::string read_pem(const char* option, const std::string& path, const char* needed_with) {
  if (path.empty())
    throw std::runtime_error(std::string(option) + " is needed with " + needed_with);
  return config::read_file(path);
}

std::unique_ptr<grpc::Server> listen(grpc::ServerBuilder& builder, const ListenOptions& options,
                                     int& port) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Connections that say nothing, or little, are closed.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kGreetingMs);
  // Clients ask whether this one is there still (channel.cc) also while a watch has no news.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  if (!options.socket.empty())
    builder.AddListeningPort("unix:" + options.socket, grpc::InsecureServerCredentials());
  if (!options.address.empty())
    builder.AddListeningPort(options.address, tls_credentials(options.tls), &port);
  // Mode 0660 from the first moment on: other users must not open the socket.
  const mode_t mask = ::umask(0117);
  auto server = builder.BuildAndStart();
  ::umask(mask);
  if (!server)
    throw std::runtime_error("cannot listen at " + options.socket +
                             (options.address.empty() ? "" : " and " + options.address) +
                             "; another process may, or a file of --tls-* is no PEM");
  return server;
}

}  // namespace tributary::manager
