// When a task's rounds have converged: the norm and the decision of
// worker/python/tributary/_task/criterion.py, operation by operation, so that workers in both
// languages come to the same decision from the same bits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "worker/task/task_array.h"

namespace tributary::task {

// The Euclidean norm: float64 in 1,024 lanes, then the upper half of the lanes added to the lower
// one, ten times.
double norm_of(const TaskArray& array);

struct Criterion {
  std::uint32_t most_rounds = 0;
  std::optional<double> norm_below;
  std::optional<double> relative_change_below;
  std::uint32_t over_rounds = 1;

  [[nodiscard]] bool needs_norm() const { return norm_below || relative_change_below; }
  // Throws std::invalid_argument.
  static Criterion of(const nlohmann::json& stated);
};

// Rounds so far; all workers hold the same.
struct Progress {
  Criterion criterion;
  std::uint32_t completed = 0;
  std::vector<double> norms;  // of the last complete rounds, oldest first
  std::string why;            // "" while it goes on, then "norm", "relative-change" or "rounds"

  explicit Progress(const Criterion& stated) : criterion(stated) {
    if (criterion.most_rounds == 0) why = "rounds";
  }
  // Counts a round; its norm, if the criterion looks at one. `total` null: the round has no sum.
  // Throws TaskError if the norm is not finite.
  std::optional<double> add(const TaskArray* total, bool degraded);
  [[nodiscard]] bool final() const { return !why.empty(); }
  [[nodiscard]] bool converged() const {
    return final() && (why != "rounds" || !criterion.needs_norm());
  }
  [[nodiscard]] std::string to_json() const;
  // Throws std::invalid_argument.
  static Progress of_json(const Criterion& criterion, const nlohmann::json& found);

 private:
  [[nodiscard]] std::string decide(double norm) const;
};

}  // namespace tributary::task
