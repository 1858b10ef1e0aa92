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
  std::unique_ptr<Listening> listening = nullptr;
};

Standby::Standby(const ListenOptions& options, std::function<std::string()> why)
    : inside_(std::make_unique<Inside>(Inside{RefuseAll(std::move(why))})) {
  grpc::EnableDefaultHealthCheckService(false);
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&inside_->service);
  inside_->listening = std::make_unique<Listening>(builder, options);
}

Standby::~Standby() = default;

int Standby::port() const {
  return inside_->listening->port();
}

}  // namespace tributary::manager
