#include "manager/api/channel.h"

#include <array>
#include <boost/algorithm/string.hpp>
#include <utility>

#include "config/text/file.h"
#include "manager/api/certificate.h"
#include "manager/api/standby.h"

namespace tributary::manager {

std::string name_of(grpc::StatusCode code) {
  static constexpr std::array kNames = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};
  const auto at = static_cast<std::size_t>(code);
  return at < kNames.size() ? kNames[at] : "UNKNOWN";
}

std::string describe(const grpc::Status& status, const Target& target) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty())
    return "no manager answers at " + target.address + ": " + status.error_message();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return "the manager at " + target.address + " did not answer in time";
  return status.error_message();
}

bool is_not_leading(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         status.error_details() == kNotLeading;
}

std::vector<Target> targets_of(const Target& target) {
  std::vector<std::string> addresses;
  boost::split(addresses, target.address, boost::is_any_of(","));
  std::vector<Target> targets;
  for (std::string& address : addresses) {
    targets.push_back(target);
    targets.back().address = std::move(address);
  }
  return targets;
}

Managers::Managers(const Target& target) {
  for (Target& one : targets_of(target)) {
    auto channel = open_channel(one);
    ways_.push_back({std::move(one), std::move(channel)});
  }
}

std::shared_ptr<grpc::Channel> open_channel(const Target& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Despite its name no pause: the time for an attempt, up to the manager's first HTTP/2 frame,
  // which takes a busy machine longer than a pause does.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  // Keeps a stream of an agent from hanging on a manager that is gone or stands still.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  if (target.address.starts_with("unix:"))
    return grpc::CreateCustomChannel(target.address, grpc::InsecureChannelCredentials(), arguments);
  if (target.address.rfind(':') == std::string::npos)
    throw std::invalid_argument(
        "manager '" + target.address +
        "'; allowed: unix:PATH or HOST:PORT, or several, with commas between");
  if (target.ca.empty() || target.certificate.empty() || target.key.empty())
    throw std::invalid_argument("manager " + target.address +
                                " needs --tls-ca, --tls-cert and --tls-key");
  check_certificate(target.certificate);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = config::read_file(target.ca);
  options.pem_cert_chain = config::read_file(target.certificate);
  options.pem_private_key = config::read_file(target.key);
  return grpc::CreateCustomChannel(target.address, grpc::SslCredentials(options), arguments);
}

}  // namespace tributary::manager
