// A rank's named data (docs/protocol/names.md): the real NameClient under an application that puts
// a value after each op of its turn, and asks for one that some rank has put before.
//
// The value of an op is the same in every incarnation, so a rank that begins anew puts it again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/prng.h"
#include "sim/scenario/scenario.h"
#include "worker/names/name_client.h"
#include "worker/session/session.h"

namespace tributary::sim {

struct NamedCall {
  std::shared_ptr<worker::NameCall> call;
  std::uint32_t index = 0;  // the op whose value it is
  std::uint16_t epoch = 0;  // in which it began
};

// The value that belongs to an op, and the rank that puts it.
std::vector<std::byte> named_value(const JobScenario& job, std::uint64_t workload_seed,
                                   std::uint32_t index);
inline std::uint32_t producer_of(const JobScenario& job, std::uint32_t index) {
  return index % job.workers;
}

class RankNames {
 public:
  RankNames(const JobScenario& job, std::uint32_t rank, std::uint64_t workload_seed)
      : job_(job), rank_(rank), workload_seed_(workload_seed) {}

  // Another process.
  void reset();
  void identify(const worker::Session& session);
  // Op `index` is done: calls to begin.
  std::vector<NamedCall> start_calls(std::uint32_t index, Prng& random, Instant now);
  // Calls that have ended.
  std::vector<NamedCall> take_finished();
  [[nodiscard]] bool busy() const { return !open_.empty(); }
  [[nodiscard]] worker::NameClient& client() { return *client_; }
  [[nodiscard]] const worker::NameClient& client() const { return *client_; }
  // The client's packets on their way to the card.
  [[nodiscard]] worker::NameBatch& batch() { return *batch_; }

 private:
  NamedCall start(worker::NameCall::Kind kind, std::uint32_t index, Instant now);

  const JobScenario& job_;
  std::uint32_t rank_;
  std::uint64_t workload_seed_;
  std::unique_ptr<worker::NameClient> client_ = std::make_unique<worker::NameClient>();
  std::unique_ptr<worker::NameBatch> batch_ = std::make_unique<worker::NameBatch>();
  std::vector<NamedCall> open_;
};

}  // namespace tributary::sim
