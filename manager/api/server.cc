#include "manager/api/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "config/text/error.h"
#include "manager/api/agent_stream.h"
#include "manager/api/calls.h"
#include "manager/api/channel.h"
#include "manager/api/pod_calls.h"

namespace tributary::manager {
namespace {

constexpr std::chrono::seconds kTurn{1};      // a watcher looks so often whether it is still heard
constexpr std::chrono::seconds kMoveTime{5};  // a caller waits so long for a switch that moves

class JobCalls final : public v1::Jobs::Service {
 public:
  explicit JobCalls(Shared& shared) : shared_(shared) {}

  grpc::Status Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                      v1::Job* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      const std::string file = request->file_name().empty() ? "request" : request->file_name();
      const JobRequest parsed = parse_job_request(request->request(), file);
      const std::string& name = parsed.job.config.name;
      require_tenant(caller, parsed.tenant, "the request is of tenant " + parsed.tenant);
      const Decision told = shared_.cluster.submit(request->request(), file, shared_.now());
      if (told.outcome == Outcome::refused)
        throw CallError(told.name_taken ? grpc::StatusCode::ALREADY_EXISTS
                                        : grpc::StatusCode::FAILED_PRECONDITION,
                        told.reason);
      if (!shared_.show(name, *reply))
        throw CallError(grpc::StatusCode::ABORTED, "job " + name + " has ended meanwhile");
    });
  }

  grpc::Status List(grpc::ServerContext* context, const v1::ListRequest* request,
                    v1::ListReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      if (!request->tenant().empty())
        require_tenant(caller, request->tenant(), "asked for jobs of tenant " + request->tenant());
      shared_.cluster.look([&](const Cluster::View& view) {
        for (const auto& [name, job] : view.service.admission().jobs()) {
          const std::string& tenant = job.request.tenant;
          const bool wanted = request->tenant().empty() || request->tenant() == tenant;
          if (wanted && caller.may_act_for(tenant)) fill(view, job, *reply->add_jobs());
        }
      });
    });
  }

  grpc::Status Show(grpc::ServerContext* context, const v1::ShowRequest* request,
                    v1::Job* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      if (!shared_.show(request->name(), *reply)) throw no_job(request->name());
      require_tenant(caller, reply->tenant(), "job " + request->name() + " is another tenant's");
    });
  }

  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::Event* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      v1::Job job;
      if (!shared_.show(request->name(), job)) throw no_job(request->name());
      require_tenant(caller, job.tenant(), "job " + request->name() + " is another tenant's");
      const std::string reason =
          "asked by " + caller.text() + (request->reason().empty() ? "" : ": ") + request->reason();
      const auto told = shared_.cluster.cancel(request->name(), shared_.now(), reason);
      if (!told) throw no_job(request->name());
      reply->set_kind(name_of(told->outcome));
      reply->set_job(told->job);
      reply->set_tenant(told->tenant);
      reply->set_id(told->id);
      reply->set_reason(told->reason);
    });
  }

  grpc::Status Watch(grpc::ServerContext* context, const v1::ShowRequest* request,
                     grpc::ServerWriter<v1::Job>* writer) override {
    return shared_.call(*context, [&](const Identity& caller) {
      const StreamPlace place(shared_);
      std::uint64_t seen = 0;
      std::string last;
      while (!context->IsCancelled() && !shared_.cluster.stopping()) {
        v1::Job job;
        if (!shared_.show(request->name(), job)) throw no_job(request->name());
        require_tenant(caller, job.tenant(), "job " + request->name() + " is another tenant's");
        std::string now = job.SerializeAsString();
        if (now != last && !writer->Write(job)) return;
        last = std::move(now);
        shared_.cluster.wait_change(seen, kTurn);
      }
      if (shared_.cluster.stopping()) throw interrupted();
    });
  }

 private:
  static CallError no_job(const std::string& name) {
    return {grpc::StatusCode::NOT_FOUND, "there is no job " + name};
  }
  Shared& shared_;
};

class ClusterCalls final : public v1::Cluster::Service {
 public:
  explicit ClusterCalls(Shared& shared) : shared_(shared) {}

  grpc::Status Topology(grpc::ServerContext* context, const v1::TopologyRequest*,
                        v1::TopologyReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      require_operator(caller);
      shared_.cluster.look([&](const Cluster::View& view) { fill(view, *reply); });
    });
  }

  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      require_operator(caller);
      const auto workers = shared_.cluster.drain(request->name(), !request->undo(), shared_.now());
      v1::TopologyReply all;
      shared_.cluster.look([&](const Cluster::View& view) { fill(view, all); });
      std::set<std::string> jobs;
      for (const std::string& name : workers) reply->add_workers(name);
      for (const v1::Worker& worker : all.workers())
        if (std::find(workers.begin(), workers.end(), worker.name()) != workers.end())
          jobs.insert(worker.jobs().begin(), worker.jobs().end());
      for (const std::string& name : jobs) reply->add_jobs(name);
    });
  }

  grpc::Status Move(grpc::ServerContext* context, const v1::MoveRequest* request,
                    v1::MoveReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      require_operator(caller);
      const StreamPlace place(shared_);
      reply->set_name(request->name());
      reply->set_to(request->uplink());
      shared_.cluster.use_uplink(request->name(), request->uplink(), shared_.now());
      std::uint64_t seen = 0;
      const auto until = std::chrono::steady_clock::now() + kMoveTime;
      while (look_at_move(*request, *reply) && !context->IsCancelled() &&
             !shared_.cluster.stopping() && std::chrono::steady_clock::now() < until)
        shared_.cluster.wait_change(seen, kTurn);
    });
  }

  grpc::Status Events(grpc::ServerContext* context, const v1::EventsRequest* request,
                      v1::EventsReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      shared_.cluster.look([&](const Cluster::View& view) {
        for (const Event& event : view.events)
          if (event.sequence > request->after() &&
              (caller.is_operator() || caller.may_act_for(event.tenant)))
            fill(event, *reply->add_events());
      });
    });
  }

  grpc::Status Stragglers(grpc::ServerContext* context, const v1::StragglersRequest* request,
                          v1::StragglersReply* reply) override {
    return shared_.call(*context, [&](const Identity& caller) {
      const std::uint32_t most = request->most() == 0 ? UINT32_MAX : request->most();
      shared_.cluster.look([&](const Cluster::View& view) {
        LatenessBySwitch reports;
        for (const auto& [name, state] : view.switches)
          if (state.last.lateness) reports[name] = *state.last.lateness;
        for (const Straggler& one : worst_first(view.service.admission(), reports))
          if (caller.may_act_for(one.tenant) &&
              (request->job().empty() || request->job() == one.job) &&
              one.lateness.mean_ms >= request->above_ms() &&
              static_cast<std::uint32_t>(reply->stragglers_size()) < most)
            fill(one, *reply->add_stragglers());
      });
    });
  }

 private:
  // True: it is under way. Throws CallError where it came to nothing.
  bool look_at_move(const v1::MoveRequest& request, v1::MoveReply& reply) const {
    return shared_.cluster.look([&](const Cluster::View& view) {
      const std::optional<manager::Move>& move = view.service.move();
      if (move && move->node == request.name() && move->to == request.uplink()) {
        fill(*move, reply);
        return true;
      }
      reply.clear_waits_for();
      const auto& topology = view.service.admission().topology();
      if (way_of(topology, request.name()) != request.uplink())
        throw CallError(grpc::StatusCode::FAILED_PRECONDITION, view.stayed);
      return false;
    });
  }

  Shared& shared_;
};

class AgentCalls final : public v1::Agents::Service {
 public:
  explicit AgentCalls(Shared& shared) : shared_(shared) {}

  grpc::Status Attend(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::Document, v1::SwitchMessage>* stream) override {
    return shared_.call(*context, [&](const Identity& caller) {
      const StreamPlace place(shared_);
      AgentStream(shared_, *context, *stream).run(caller);
    });
  }

 private:
  Shared& shared_;
};

}  // namespace

struct Server::Inside {
  Inside(Cluster& cluster, PodCluster& placed, std::function<Instant()> now)
      : shared{cluster, std::move(now)},
        pods(placed),
        jobs(shared),
        nodes(shared),
        agents(shared),
        pod_services(shared, placed) {}

  Shared shared;
  PodCluster& pods;
  JobCalls jobs;
  ClusterCalls nodes;
  AgentCalls agents;
  PodServices pod_services;
  std::unique_ptr<Listening> listening;
};

Server::Server(Cluster& cluster, PodCluster& pods, const ListenOptions& options,
               std::function<Instant()> now)
    : inside_(std::make_unique<Inside>(cluster, pods, std::move(now))) {
  static const bool reflection = [] {
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(reflection);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMostMessageBytes);
  builder.RegisterService(&inside_->jobs);
  builder.RegisterService(&inside_->nodes);
  builder.RegisterService(&inside_->agents);
  inside_->pod_services.register_at(builder);
  inside_->listening = std::make_unique<Listening>(builder, options);
}

Server::~Server() {
  inside_->shared.cluster.stop();
  inside_->pods.stop();
  inside_->listening.reset();
}

int Server::port() const {
  return inside_->listening->port();
}

}  // namespace tributary::manager
