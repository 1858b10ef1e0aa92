#include "manager/api/calls.h"

#include "config/text/error.h"
#include "manager/api/server.h"
#include "manager/api/standby.h"

namespace tributary::manager {
namespace {

grpc::StatusCode code_of(StoreError::Kind kind) {
  switch (kind) {
    case StoreError::Kind::conflict: return grpc::StatusCode::ABORTED;
    case StoreError::Kind::full: return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case StoreError::Kind::fenced:
    case StoreError::Kind::held:
    case StoreError::Kind::gone: break;
  }
  return grpc::StatusCode::UNAVAILABLE;
}

}  // namespace

CallError interrupted() {
  return {grpc::StatusCode::UNAVAILABLE, "the manager ends"};
}

grpc::Status status_of_exception() {
  try {
    throw;
  } catch (const CallError& error) {
    return {error.code(), error.what()};
  } catch (const config::ConfigErrors& error) {
    return {grpc::StatusCode::INVALID_ARGUMENT, error.what()};
  } catch (const StoreError& error) {
    // Details say that it is the manager who answers, and not the way to it that fails.
    return {code_of(error.kind()), error.what(),
            error.kind() == StoreError::Kind::fenced ? kNotLeading : "store"};
  } catch (const std::invalid_argument& error) {
    return {grpc::StatusCode::FAILED_PRECONDITION, error.what()};
  } catch (const std::exception& error) {
    return {grpc::StatusCode::INTERNAL, error.what()};
  }
}

Identity identity_of(const grpc::ServerContext& context) {
  if (context.peer().starts_with("unix:")) return Identity::local();
  const auto auth = context.auth_context();
  if (!auth || !auth->IsPeerAuthenticated()) return {};
  std::vector<std::string> names;
  for (const auto& name : auth->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME))
    names.emplace_back(name.data(), name.size());
  const auto common = auth->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return Identity::of_certificate(
      names, common.empty() ? "" : std::string(common[0].data(), common[0].size()));
}

void require_operator(const Identity& caller) {
  if (!caller.is_operator())
    throw CallError(grpc::StatusCode::PERMISSION_DENIED,
                    "the certificate is of " + caller.text() + "; allowed: an operator");
}

void require_tenant(const Identity& caller, const std::string& tenant, const std::string& what) {
  if (!caller.may_act_for(tenant))
    throw CallError(grpc::StatusCode::PERMISSION_DENIED,
                    what + ", and the certificate is of " + caller.text());
}

void Shared::check_term(std::uint64_t seen) const {
  const std::uint64_t term =
      cluster.look([](const Cluster::View& view) { return view.service.version().term; });
  if (seen > term)
    throw CallError(grpc::StatusCode::ABORTED,
                    "the agent has seen a manager of term " + std::to_string(seen) +
                        ", and this one has term " + std::to_string(term));
}

bool Shared::show(const std::string& name, v1::Job& to) const {
  return cluster.look([&](const Cluster::View& view) {
    const auto& jobs = view.service.admission().jobs();
    const auto at = jobs.find(name);
    if (at == jobs.end()) return false;
    fill(view, at->second, to);
    return true;
  });
}

StreamPlace::StreamPlace(Shared& shared) : shared_(shared) {
  if (++shared_.streams <= Server::kMostStreams) return;
  --shared_.streams;
  throw CallError(grpc::StatusCode::RESOURCE_EXHAUSTED,
                  "all " + std::to_string(Server::kMostStreams) + " streams are taken; try again");
}

}  // namespace tributary::manager
