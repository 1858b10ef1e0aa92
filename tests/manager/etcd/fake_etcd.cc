#include "tests/manager/etcd/fake_etcd.h"

#include <algorithm>

namespace tributary::manager {
namespace {

namespace pb = etcdserverpb;

void find(const EtcdState& state, const pb::RangeRequest& request, pb::RangeResponse& response) {
  response.mutable_header()->set_revision(state.revision);
  const std::string end = request.range_end().empty() ? request.key() + '\0' : request.range_end();
  for (auto at = state.keys.lower_bound(request.key()); at != state.keys.end() && at->first < end;
       ++at) {
    if (request.limit() > 0 && response.kvs_size() == request.limit()) {
      response.set_more(true);
      break;
    }
    *response.add_kvs() = at->second;
  }
}

bool holds(const EtcdState& state, const pb::Compare& compare) {
  const auto at = state.keys.find(compare.key());
  const pb::KeyValue there = at == state.keys.end() ? pb::KeyValue{} : at->second;
  return compare.target() == pb::Compare::CREATE
             ? there.create_revision() == compare.create_revision()
             : compare.target() == pb::Compare::MOD &&
                   there.mod_revision() == compare.mod_revision();
}

void put(EtcdState& state, const pb::PutRequest& request) {
  pb::KeyValue& entry = state.keys[request.key()];
  if (entry.create_revision() == 0) entry.set_create_revision(state.revision);
  entry.set_key(request.key());
  entry.set_value(request.value());
  entry.set_mod_revision(state.revision);
  entry.set_lease(request.lease());
}

grpc::Status carry_out(EtcdState& state, const pb::TxnRequest& request, pb::TxnResponse& response) {
  if (state.full)
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"};
  state.most_writes =
      std::max(state.most_writes,
               static_cast<std::size_t>(std::max(request.compare_size(), request.success_size())));
  const bool succeeds = std::all_of(request.compare().begin(), request.compare().end(),
                                    [&](const auto& one) { return holds(state, one); });
  response.set_succeeded(succeeds);
  if (succeeds) ++state.revision;
  for (const pb::RequestOp& op : succeeds ? request.success() : request.failure()) {
    pb::ResponseOp& answer = *response.add_responses();
    if (op.has_request_range())
      find(state, op.request_range(), *answer.mutable_response_range());
    else if (op.has_request_put())
      put(state, op.request_put());
    else
      state.keys.erase(op.request_delete_range().key());
  }
  response.mutable_header()->set_revision(state.revision);
  return grpc::Status::OK;
}

}  // namespace

void EtcdState::end_lease(std::int64_t id) {
  leases.erase(id);
  if (std::erase_if(keys, [id](const auto& entry) { return entry.second.lease() == id; }) > 0)
    ++revision;
}

class FakeEtcd::Keys final : public pb::KV::Service {
 public:
  explicit Keys(FakeEtcd& owner) : owner_(owner) {}

  grpc::Status Range(grpc::ServerContext*, const pb::RangeRequest* request,
                     pb::RangeResponse* response) override {
    if (owner_.fault_ == Fault::away) return {grpc::StatusCode::UNAVAILABLE, "away"};
    const std::lock_guard lock(owner_.state_->mutex);
    if (request->limit() > 0) owner_.state_->page_revisions.push_back(request->revision());
    find(*owner_.state_, *request, *response);
    return grpc::Status::OK;
  }
  grpc::Status Txn(grpc::ServerContext*, const pb::TxnRequest* request,
                   pb::TxnResponse* response) override {
    if (owner_.fault_ == Fault::away) return {grpc::StatusCode::UNAVAILABLE, "away"};
    const std::lock_guard lock(owner_.state_->mutex);
    grpc::Status status = carry_out(*owner_.state_, *request, *response);
    Fault mute = Fault::mute_once;
    if (owner_.fault_.compare_exchange_strong(mute, Fault::none))
      return {grpc::StatusCode::UNAVAILABLE, "connection reset"};
    return status;
  }

 private:
  FakeEtcd& owner_;
};

class FakeEtcd::Leases final : public pb::Lease::Service {
 public:
  explicit Leases(FakeEtcd& owner) : owner_(owner) {}

  grpc::Status LeaseGrant(grpc::ServerContext*, const pb::LeaseGrantRequest* request,
                          pb::LeaseGrantResponse* response) override {
    if (owner_.fault_ == Fault::away) return {grpc::StatusCode::UNAVAILABLE, "away"};
    const std::lock_guard lock(owner_.state_->mutex);
    Fault brief = Fault::short_lease;
    const bool is_short = owner_.fault_.compare_exchange_strong(brief, Fault::none);
    response->set_id(owner_.state_->next_lease++);
    response->set_ttl(is_short ? 2 : request->ttl());
    owner_.state_->leases[response->id()] = request->ttl();
    return grpc::Status::OK;
  }
  grpc::Status LeaseRevoke(grpc::ServerContext*, const pb::LeaseRevokeRequest* request,
                           pb::LeaseRevokeResponse*) override {
    if (owner_.fault_ == Fault::away) return {grpc::StatusCode::UNAVAILABLE, "away"};
    const std::lock_guard lock(owner_.state_->mutex);
    if (!owner_.state_->leases.contains(request->id()))
      return {grpc::StatusCode::NOT_FOUND, "etcdserver: requested lease not found"};
    owner_.state_->end_lease(request->id());
    return grpc::Status::OK;
  }
  grpc::Status LeaseKeepAlive(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<pb::LeaseKeepAliveResponse, pb::LeaseKeepAliveRequest>* stream)
      override {
    pb::LeaseKeepAliveRequest request;
    while (stream->Read(&request)) {
      if (owner_.fault_ == Fault::away) return {grpc::StatusCode::UNAVAILABLE, "away"};
      pb::LeaseKeepAliveResponse response;
      {
        const std::lock_guard lock(owner_.state_->mutex);
        const auto at = owner_.state_->leases.find(request.id());
        response.set_id(request.id());
        ++owner_.state_->renewals;
        response.set_ttl(at == owner_.state_->leases.end() ? 0 : at->second);
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  FakeEtcd& owner_;
};

FakeEtcd::FakeEtcd(std::shared_ptr<EtcdState> state)
    : state_(std::move(state)),
      keys_(std::make_unique<Keys>(*this)),
      leases_(std::make_unique<Leases>(*this)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(keys_.get());
  builder.RegisterService(leases_.get());
  server_ = builder.BuildAndStart();
}

FakeEtcd::~FakeEtcd() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

std::string FakeEtcd::endpoint() const {
  return "127.0.0.1:" + std::to_string(port_);
}

void FakeEtcd::set(Fault fault) {
  fault_ = fault;
}

}  // namespace tributary::manager
