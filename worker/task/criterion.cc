#include "worker/task/criterion.h"

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

constexpr std::size_t kLanes = 1024;
constexpr std::uint32_t kMostRounds = 1'000'000'000;
constexpr std::uint32_t kMostHistory = 1000;

template <typename T>
double lanes_of(const TaskArray& array) {
  std::array<double, kLanes> lanes{};
  const std::size_t count = array.bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    const auto wide = static_cast<double>(value);
    lanes[i % kLanes] += wide * wide;
  }
  for (std::size_t width = kLanes / 2; width >= 1; width /= 2)
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  return lanes[0];
}

double squares_of(const TaskArray& array) {
  using wire::DType;
  switch (array.dtype) {
    case DType::int8: return lanes_of<std::int8_t>(array);
    case DType::int16: return lanes_of<std::int16_t>(array);
    case DType::int32: return lanes_of<std::int32_t>(array);
    case DType::int64: return lanes_of<std::int64_t>(array);
    case DType::boolean:
    case DType::uint8: return lanes_of<std::uint8_t>(array);
    case DType::uint32: return lanes_of<std::uint32_t>(array);
    case DType::uint64: return lanes_of<std::uint64_t>(array);
    case DType::float32: return lanes_of<float>(array);
    case DType::float64: return lanes_of<double>(array);
    default:
      throw TaskError(std::string("a norm of ") + wire::name_of(array.dtype) +
                      " is not there in C++; allowed: other types, or a criterion without norm");
  }
}

std::uint32_t count_of(const nlohmann::json& stated, const char* key, std::uint32_t least,
                       std::uint32_t most) {
  const auto found = stated.find(key);
  if (found != stated.end() && found->is_number_unsigned() &&
      found->get<std::uint64_t>() >= least && found->get<std::uint64_t>() <= most)
    return found->get<std::uint32_t>();
  throw std::invalid_argument(std::string("criterion: ") + key + " is missing or no count");
}

std::optional<double> bound_of(const nlohmann::json& stated, const char* key) {
  const auto found = stated.find(key);
  if (found == stated.end() || found->is_null()) return std::nullopt;
  if (found->is_number() && found->get<double>() > 0 && std::isfinite(found->get<double>()))
    return found->get<double>();
  throw std::invalid_argument(std::string("criterion: ") + key + " is no finite number above 0");
}

}  // namespace

double norm_of(const TaskArray& array) {
  return std::sqrt(squares_of(array));
}

Criterion Criterion::of(const nlohmann::json& stated) {
  if (!stated.is_object()) throw std::invalid_argument("criterion: is no object");
  Criterion criterion;
  criterion.most_rounds = count_of(stated, "most_rounds", 0, kMostRounds);
  if (stated.contains("over_rounds"))
    criterion.over_rounds = count_of(stated, "over_rounds", 1, kMostHistory);
  criterion.norm_below = bound_of(stated, "norm_below");
  criterion.relative_change_below = bound_of(stated, "relative_change_below");
  return criterion;
}

std::optional<double> Progress::add(const TaskArray* total, bool degraded) {
  const std::uint32_t number = completed + 1;
  std::optional<double> found;
  if (total != nullptr && criterion.needs_norm()) {
    found = norm_of(*total);
    if (!std::isfinite(*found))
      throw TaskError("round " + std::to_string(number) + ": the norm of the sum is not finite");
  }
  completed = number;
  if (!degraded && found) {
    why = decide(*found);
    norms.push_back(*found);
    if (norms.size() > criterion.over_rounds) norms.erase(norms.begin());
  }
  if (why.empty() && number >= criterion.most_rounds) why = "rounds";
  return found;
}

std::string Progress::decide(double norm) const {
  if (criterion.norm_below && norm < *criterion.norm_below) return "norm";
  if (!criterion.relative_change_below || norms.size() != criterion.over_rounds) return "";
  const double before = norms.front();
  const double change = std::abs(norm - before);
  // 0 after 0 is no change; 0 has no relative change otherwise.
  const bool small = change < *criterion.relative_change_below * before;
  return small || (norm == 0 && before == 0) ? "relative-change" : "";
}

std::string Progress::to_json() const {
  std::string list;
  for (const double norm : norms) list += (list.empty() ? "" : ", ") + python_float(norm);
  return "{\"completed\": " + std::to_string(completed) + ", \"norms\": [" + list +
         "], \"why\": \"" + why + "\"}";
}

Progress Progress::of_json(const Criterion& criterion, const nlohmann::json& found) {
  if (!found.is_object()) throw std::invalid_argument("progress: damaged");
  Progress progress(criterion);
  progress.completed = count_of(found, "completed", 0, kMostRounds);
  const auto why = found.find("why");
  if (why == found.end() || !why->is_string()) throw std::invalid_argument("progress: damaged");
  progress.why = why->get<std::string>();
  if (!progress.why.empty() && progress.why != "norm" && progress.why != "relative-change" &&
      progress.why != "rounds")
    throw std::invalid_argument("progress: damaged");
  const auto norms = found.find("norms");
  if (norms == found.end() || !norms->is_array() || norms->size() > kMostHistory)
    throw std::invalid_argument("progress: damaged norms");
  for (const auto& one : *norms) {
    if (!one.is_number_float()) throw std::invalid_argument("progress: damaged norms");
    progress.norms.push_back(one.get<double>());
  }
  return progress;
}

}  // namespace tributary::task
