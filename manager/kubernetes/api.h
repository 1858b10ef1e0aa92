// A part of Kubernetes' REST interface over a PodCluster, enough for kubectl to create, get,
// describe, watch and delete pods and groups, to read logs, and to get nodes and events.
//
// The callers have been identified: everything here needs an operator. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "manager/kubernetes/answer.h"
#include "manager/kubernetes/catalog.h"
#include "manager/kubernetes/request.h"
#include "manager/kubernetes/watch.h"

namespace tributary::manager::kubernetes {

class Api {
 public:
  static constexpr std::chrono::milliseconds kPause{200};

  // `term` and `pause` as for Catalog.
  Api(PodCluster& pods, std::uint64_t term, std::function<Instant()> now,
      std::chrono::milliseconds pause = kPause)
      : pods_(pods), catalog_(pods, term, pause), now_(std::move(now)) {}

  using Reply = std::variant<Answer, std::unique_ptr<Watch>>;
  // Does what the request asks for. What fails is an Answer, too.
  Reply ask(const Request& request);

 private:
  Reply read(const Target& target, const Request& request);
  Answer list(const Target& target, const Request& request);
  Answer create(const Target& target, const Request& request);
  Answer remove(const Target& target, const Request& request);
  bool remove_pod(const std::string& name, const std::string& uid);
  Answer log(const Target& target, const Request& request);
  [[nodiscard]] Object find(const Target& target);
  Reply dispatch(const Request& request);

  PodCluster& pods_;
  Catalog catalog_;
  const std::function<Instant()> now_;
};

}  // namespace tributary::manager::kubernetes
