// Common parts of all calls of the server: the caller's identity, and errors as gRPC's codes.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>

#include "manager/api/identity.h"
#include "manager/api/manager.grpc.pb.h"
#include "manager/api/messages.h"
#include "manager/service/cluster.h"

namespace tributary::manager {

class CallError : public std::runtime_error {
 public:
  CallError(grpc::StatusCode code, const std::string& what)
      : std::runtime_error(what), code_(code) {}
  [[nodiscard]] grpc::StatusCode code() const { return code_; }

 private:
  grpc::StatusCode code_;
};

// The error of a call that the manager's end interrupts: its client asks the next manager.
CallError interrupted();
// Converts the exception that is being handled; to be called in a catch block.
grpc::Status status_of_exception();
Identity identity_of(const grpc::ServerContext& context);
// Throw CallError.
void require_operator(const Identity& caller);
void require_tenant(const Identity& caller, const std::string& tenant, const std::string& what);

struct Shared {
  Cluster& cluster;
  std::function<Instant()> now;
  std::atomic<int> streams{0};

  // False: there is no such job.
  bool show(const std::string& name, v1::Job& to) const;

  // Throws CallError for an agent that has seen a manager of a later term than this one.
  void check_term(std::uint64_t seen) const;

  template <typename Function>
  grpc::Status call(const grpc::ServerContext& context, Function function) {
    try {
      const Identity caller = identity_of(context);
      if (caller.is_anonymous())
        throw CallError(grpc::StatusCode::UNAUTHENTICATED,
                        "the certificate names no tenant, node or operator");
      function(caller);
      return grpc::Status::OK;
    } catch (...) {
      return status_of_exception();
    }
  }
};

// A stream's right to a thread; throws CallError when too many have one.
class StreamPlace {
 public:
  explicit StreamPlace(Shared& shared);
  ~StreamPlace() { --shared_.streams; }
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;

 private:
  Shared& shared_;
};

}  // namespace tributary::manager
