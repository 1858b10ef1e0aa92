#include "manager/etcd/connection.h"

#include <grpcpp/grpcpp.h>

#include <stdexcept>

#include "config/text/file.h"

namespace tributary::manager {
namespace {

namespace pb = etcdserverpb;

constexpr int kMostMessageBytes = 64 << 20;

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const EtcdTls& tls) {
  if (tls.certificate.empty() != tls.key.empty())
    throw std::invalid_argument("--etcd-cert and --etcd-key go together");
  if (tls.ca.empty()) {
    if (!tls.key.empty()) throw std::invalid_argument("--etcd-cert needs --etcd-ca");
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = config::read_file(tls.ca);
  if (!tls.key.empty()) {
    options.pem_cert_chain = config::read_file(tls.certificate);
    options.pem_private_key = config::read_file(tls.key);
  }
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostMessageBytes);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  return arguments;
}

bool may_another_answer(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

bool is_full(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
         status.error_message().find("space exceeded") != std::string::npos;
}

}  // namespace

EtcdConnection::EtcdConnection(const EtcdAddress& address, const EtcdTls& tls,
                               std::chrono::milliseconds answer)
    : prefix_(address.prefix), name_("etcd:"), answer_(answer) {
  const auto credentials = credentials_of(tls);
  for (const std::string& endpoint : address.endpoints) {
    const auto channel = grpc::CreateCustomChannel(endpoint, credentials, arguments());
    name_.append(members_.empty() ? "" : ",").append(endpoint);
    members_.push_back({endpoint, pb::KV::NewStub(channel), pb::Lease::NewStub(channel)});
  }
}

template <typename Call>
std::size_t EtcdConnection::ask(Call call) {
  std::string why;
  for (std::size_t asked = 0; asked < members_.size(); ++asked) {
    const std::size_t index = next_ % members_.size();
    const Member& member = members_[index];
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + answer_);
    const grpc::Status status = call(member, context);
    if (status.ok()) return asked;
    const std::string text = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED
                                 ? "no answer in time"
                                 : status.error_message();
    why.append(why.empty() ? "" : "; ").append(member.endpoint).append(": ").append(text);
    if (!may_another_answer(status))
      throw StoreError(is_full(status) ? StoreError::Kind::full : StoreError::Kind::gone,
                       "store " + name_ + ": " + text);
    std::size_t expected = index;
    next_.compare_exchange_strong(expected, (index + 1) % members_.size());
  }
  throw StoreError(StoreError::Kind::gone, "store " + name_ + " does not answer: " + why);
}

pb::RangeResponse EtcdConnection::range(const pb::RangeRequest& request) {
  pb::RangeResponse response;
  ask([&](const Member& member, grpc::ClientContext& context) {
    return member.keys->Range(&context, request, &response);
  });
  return response;
}

EtcdConnection::Answer EtcdConnection::txn(const pb::TxnRequest& request) {
  Answer answer;
  answer.asked_before = ask([&](const Member& member, grpc::ClientContext& context) {
                          return member.keys->Txn(&context, request, &answer.response);
                        }) > 0;
  return answer;
}

EtcdConnection::Grant EtcdConnection::grant(std::chrono::seconds time) {
  pb::LeaseGrantRequest request;
  request.set_ttl(time.count());
  pb::LeaseGrantResponse response;
  ask([&](const Member& member, grpc::ClientContext& context) {
    return member.leases->LeaseGrant(&context, request, &response);
  });
  if (!response.error().empty())
    throw StoreError(StoreError::Kind::gone, "store " + name_ + ": lease: " + response.error());
  return {response.id(), std::chrono::seconds(response.ttl())};
}

std::chrono::seconds EtcdConnection::keep_alive(std::int64_t lease) {
  pb::LeaseKeepAliveRequest request;
  request.set_id(lease);
  pb::LeaseKeepAliveResponse response;
  ask([&](const Member& member, grpc::ClientContext& context) {
    const auto stream = member.leases->LeaseKeepAlive(&context);
    const bool answered = stream->Write(request) && stream->Read(&response);
    if (answered) context.TryCancel();
    const grpc::Status status = stream->Finish();
    if (answered) return grpc::Status::OK;
    return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer") : status;
  });
  return std::chrono::seconds(response.ttl());
}

void EtcdConnection::revoke(std::int64_t lease) {
  pb::LeaseRevokeRequest request;
  request.set_id(lease);
  pb::LeaseRevokeResponse response;
  ask([&](const Member& member, grpc::ClientContext& context) {
    return member.leases->LeaseRevoke(&context, request, &response);
  });
}

}  // namespace tributary::manager
