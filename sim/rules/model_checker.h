// The model of one job as it must be (T21): its parameters at each step that a result has shown.
//
// The optimizer is plain descent with rate 1 and gradients are small whole numbers, so a step is
// exact: parameters less the sum. Every update that any rank got the result of must be that, once;
// an epoch goes on from the last whole step, or from one further where the answer was lost; only a
// server that crashed may go back, and then to a step that was.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario/workload.h"

namespace tributary::sim {

class ModelChecker {
 public:
  // The ranks' incarnations in an epoch.
  using Salts = std::function<std::vector<std::uint64_t>(std::uint32_t epoch)>;

  void server_crashed() { crashed_ = true; }
  // A rank calls an op that concerns the model.
  void called(std::uint32_t epoch, std::uint32_t index, const OpPlan& plan);
  // The first rank of the epoch has its result. Returns the mistake in it; nullopt: none.
  std::optional<std::string> done(std::uint32_t epoch, std::uint32_t index, const OpPlan& plan,
                                  std::span<const std::byte> result, const Salts& salts);

 private:
  using Values = std::vector<float>;
  struct Call {
    std::uint32_t epoch = 0;
    std::uint32_t index = 0;
    OpPlan plan;
  };

  std::optional<std::string> step_told(std::uint32_t epoch, std::uint32_t next);
  std::optional<std::string> opened(std::uint32_t epoch, std::uint32_t index, const OpPlan& plan,
                                    const Values& got, const Salts& salts);
  // Parameters less the sum of an update's gradients.
  static Values stepped(const Values& from, const Call& call, const Salts& salts);

  bool crashed_ = false;
  std::map<std::uint32_t, Values> known_;                       // by step
  std::map<std::uint32_t, std::optional<std::uint32_t>> step_;  // by epoch: behind the model
  std::optional<Call> last_update_;                             // whether or not it came to pass
};

}  // namespace tributary::sim
