#include "manager/api/standby.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <utility>

namespace tributary::manager {
namespace {

// Ends a call, and with it itself.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(const std::string& why) {
    Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, why, kNotLeading));
  }
  void OnDone() override { delete this; }
};

class RefuseAll final : public grpc::CallbackGenericService {
 public:
  explicit RefuseAll(std::function<std::string()> why) : why_(std::move(why)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Refusal(why_());
  }

 private:
  std::function<std::string()> why_;
};

}  // namespace

struct Standby::Inside {
  RefuseAll service;
  int port = 0;
  std::unique_ptr<grpc::Server> server = nullptr;
};

Standby::Standby(const ListenOptions& options, std::function<std::string()> why)
    : inside_(std::make_unique<Inside>(Inside{RefuseAll(std::move(why))})) {
  grpc::EnableDefaultHealthCheckService(false);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&inside_->service);
  inside_->server = listen(builder, options, inside_->port);
}

Standby::~Standby() {
  inside_->server->Shutdown(std::chrono::system_clock::now());
  inside_->server->Wait();
}

int Standby::port() const {
  return inside_->port;
}

}  // namespace tributary::manager
