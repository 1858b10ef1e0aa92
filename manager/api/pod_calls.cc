#include "manager/api/pod_calls.h"

#include <algorithm>
#include <utility>

#include "manager/api/node_stream.h"
#include "manager/api/pod_messages.h"
#include "manager/api/pods.grpc.pb.h"
#include "manager/service/log_reader.h"

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kTurn{1};

CallError no_pod(const std::string& name) {
  return {grpc::StatusCode::NOT_FOUND, "there is no pod " + name};
}

grpc::StatusCode code_of(LogError::Kind kind) {
  switch (kind) {
    case LogError::Kind::no_pod:
    case LogError::Kind::no_container: return grpc::StatusCode::NOT_FOUND;
    case LogError::Kind::no_place: break;
    case LogError::Kind::busy: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case LogError::Kind::silent: return grpc::StatusCode::UNAVAILABLE;
  }
  return grpc::StatusCode::FAILED_PRECONDITION;
}

class PodCalls final : public v1::Pods::Service {
 public:
  PodCalls(Shared& shared, PodCluster& pods) : shared_(shared), pods_(pods) {}

  grpc::Status Create(grpc::ServerContext* context, const v1::CreatePodsRequest* request,
                      v1::CreatePodsReply* reply) override {
    return operators(*context, [&] {
      const Manifest manifest = parse_manifest(
          request->manifest(), request->file_name().empty() ? "manifest" : request->file_name());
      try {
        pods_.create(manifest, shared_.now());
      } catch (const PodBook::AlreadyThere& error) {
        throw CallError(grpc::StatusCode::ALREADY_EXISTS, error.what());
      }
      for (const PodGroup& group : manifest.groups)
        reply->add_created("podgroup/" + group.metadata.name);
      for (const Pod& pod : manifest.pods) reply->add_created("pod/" + pod.metadata.name);
    });
  }

  grpc::Status List(grpc::ServerContext* context, const v1::ListPodsRequest*,
                    v1::ListPodsReply* reply) override {
    return operators(*context, [&] {
      pods_.look([&](const PodCluster::View& view) {
        for (const auto& [name, record] : view.book.pods()) fill(record, *reply->add_pods());
        for (const GroupLoad& group : group_loads(view.book)) fill(group, *reply->add_groups());
      });
    });
  }

  grpc::Status Show(grpc::ServerContext* context, const v1::ShowPodRequest* request,
                    v1::ShowPodReply* reply) override {
    return operators(*context, [&] {
      pods_.look([&](const PodCluster::View& view) {
        const auto at = view.book.pods().find(request->name());
        if (at == view.book.pods().end()) throw no_pod(request->name());
        fill(at->second, *reply->mutable_pod());
        reply->set_manifest(dump(at->second.pod));
        for (const PodEvent& event : view.events) {
          if (event.pod != request->name()) continue;
          v1::PodEventInfo& added = *reply->add_events();
          added.set_time_ms(event.time_ms);
          added.set_kind(event.kind);
          added.set_message(event.message);
        }
      });
    });
  }

  grpc::Status Wait(grpc::ServerContext* context, const v1::WaitPodRequest* request,
                    v1::WaitPodReply* reply) override {
    return operators(*context, [&] {
      const StreamPlace place(shared_);
      std::uint64_t seen = 0;
      while (!is_over(*request, *reply) && !context->IsCancelled() && !pods_.stopping())
        pods_.wait_change(seen, kTurn);
      if (pods_.stopping()) throw interrupted();
    });
  }

  grpc::Status Delete(grpc::ServerContext* context, const v1::DeletePodRequest* request,
                      v1::DeletePodReply* reply) override {
    return operators(*context, [&] {
      const std::string& name = request->name();
      if (request->group()) {
        if (!pods_.remove_group(name, shared_.now()))
          throw CallError(grpc::StatusCode::NOT_FOUND, "there is no podgroup " + name);
        return reply->set_gone(true);
      }
      if (!pods_.remove(name, shared_.now())) throw no_pod(name);
      reply->set_gone(pods_.look(
          [&](const PodCluster::View& view) { return !view.book.pods().contains(name); }));
    });
  }

  grpc::Status Nodes(grpc::ServerContext* context, const v1::ListNodesRequest*,
                     v1::ListNodesReply* reply) override {
    return operators(*context, [&] {
      pods_.look([&](const PodCluster::View& view) {
        for (const Node& node : view.book.nodes_in_use()) fill(node, *reply->add_nodes());
      });
    });
  }

  grpc::Status Logs(grpc::ServerContext* context, const v1::PodLogsRequest* request,
                    v1::PodLogsReply* reply) override {
    return operators(*context, [&] {
      const StreamPlace place(shared_);
      try {
        reply->set_text(read_log(pods_, request->name(), request->container(), request->lines()));
      } catch (const LogError& error) {
        throw CallError(code_of(error.kind), error.what());
      }
    });
  }

 private:
  template <typename Function>
  grpc::Status operators(const grpc::ServerContext& context, Function function) {
    return shared_.call(context, [&](const Identity& caller) {
      require_operator(caller);
      function();
    });
  }

  // Whether there is nothing to wait for any more.
  bool is_over(const v1::WaitPodRequest& request, v1::WaitPodReply& reply) const {
    return pods_.look([&](const PodCluster::View& view) {
      reply.clear_pod();
      const auto at = view.book.pods().find(request.name());
      if (at == view.book.pods().end()) {
        if (!request.gone()) throw no_pod(request.name());
        return true;
      }
      fill(at->second, *reply.mutable_pod());
      return !request.gone() && at->second.phase != PodPhase::pending;
    });
  }

  Shared& shared_;
  PodCluster& pods_;
};

class NodeCalls final : public v1::NodeAgents::Service {
 public:
  NodeCalls(Shared& shared, PodCluster& pods) : shared_(shared), pods_(pods) {}

  grpc::Status Attend(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::NodeWork, v1::NodeReport>* stream) override {
    return shared_.call(*context, [&](const Identity& caller) {
      const StreamPlace place(shared_);
      NodeStream(shared_, pods_, *context, *stream).run(caller);
    });
  }

 private:
  Shared& shared_;
  PodCluster& pods_;
};

}  // namespace

struct PodServices::Inside {
  Inside(Shared& shared, PodCluster& cluster) : pods(shared, cluster), nodes(shared, cluster) {}
  PodCalls pods;
  NodeCalls nodes;
};

PodServices::PodServices(Shared& shared, PodCluster& pods)
    : inside_(std::make_unique<Inside>(shared, pods)) {}
PodServices::~PodServices() = default;

void PodServices::register_at(grpc::ServerBuilder& builder) {
  builder.RegisterService(&inside_->pods);
  builder.RegisterService(&inside_->nodes);
}

}  // namespace tributary::manager
