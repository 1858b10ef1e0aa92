// How a parameter server uses the sums of a job that has a model (T21): the optimizer, its
// learning-rate schedule, the parameters, and where the model is kept across restarts.
//
// Names, formulas and defaults are those of PyTorch (torch.optim.SGD, torch.optim.Adam,
// torch.optim.lr_scheduler); completion/model/optimizer.h has the formulas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "config/text/field.h"

namespace tributary::config {

inline constexpr std::size_t kMaxModelArrays = 1024;
inline constexpr std::uint32_t kMaxModelElements = 1u << 31;  // of one array

enum class OptimizerKind : std::uint8_t { none, sgd, adam };
enum class ScheduleKind : std::uint8_t { constant, step, linear, cosine };

struct ScheduleConfig {
  ScheduleKind kind = ScheduleKind::constant;
  std::uint32_t warmup = 0;  // steps of linear growth before the schedule begins
  std::uint32_t steps = 0;   // step: between two drops; linear, cosine: until `least` is reached
  double gamma = 0.1;        // step: factor of a drop
  double least = 0;          // linear, cosine: the rate at the end
};

struct CheckpointConfig {
  std::string directory;      // empty: the model is lost with the server
  std::uint32_t every = 100;  // steps
};

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::none;  // none: the job has no model
  std::vector<std::uint32_t> parameters;     // elements of each array of the model
  double rate = 1e-3;
  double weight_decay = 0;
  double momentum = 0;    // sgd
  bool nesterov = false;  // sgd
  double beta1 = 0.9;     // adam
  double beta2 = 0.999;   // adam
  double epsilon = 1e-8;  // adam
  ScheduleConfig schedule;
  CheckpointConfig checkpoint;
};

// Float32 values that each parameter takes: itself, and the optimizer's running averages.
constexpr std::size_t planes_of(const OptimizerConfig& optimizer) {
  if (optimizer.kind == OptimizerKind::adam) return 3;
  return optimizer.momentum != 0 ? 2 : 1;
}
inline std::uint64_t elements_of(const OptimizerConfig& optimizer) {
  std::uint64_t sum = 0;
  for (const std::uint32_t elements : optimizer.parameters) sum += elements;
  return sum;
}
// Two versions of all values, so that a step can be undone as a whole, and a third one that waits
// to be written.
inline std::uint64_t model_bytes(const OptimizerConfig& optimizer) {
  const std::uint64_t versions = optimizer.checkpoint.directory.empty() ? 2 : 3;
  return elements_of(optimizer) * planes_of(optimizer) * sizeof(float) * versions;
}

const Fields<OptimizerConfig>& optimizer_fields();
// A job's key; left out of a file, and of dump(), if the job has no model.
template <typename Job>
Field<Job> optimizer_field() {
  Field<Job> field = mapping<Job, OptimizerConfig>(
      "optimizer", [](auto& j) -> auto& { return j.optimizer; }, optimizer_fields(),
      "The job has a model, which its workers open and update; left out: it has none. Such a job "
      "has one server alone among its `completion_hosts`.");
  field.write = [write = field.write](const Job& job, int indent) {
    return job.optimizer.kind == OptimizerKind::none ? std::string() : write(job, indent);
  };
  return field;
}
// Reports contradictions; `path` is the optimizer's.
void check_optimizer(const OptimizerConfig& optimizer, const std::string& path,
                     ReadContext& context);

}  // namespace tributary::config
