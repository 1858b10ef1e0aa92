// When a task's rounds have converged, with the bits of worker/python/tributary/_task/criterion.py.
#include "worker/task/criterion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

TaskArray doubles(const std::vector<double>& values) {
  return TaskArray::of(std::span(values), wire::DType::float64);
}

std::optional<double> add(Progress& progress, const std::vector<double>& sum, bool degraded) {
  const TaskArray total = doubles(sum);
  return progress.add(&total, degraded);
}

Criterion criterion(const char* stated) {
  return Criterion::of(nlohmann::json::parse(stated));
}

// Task.norm((np.arange(3000) * 0.1).astype(np.float32)), Task.norm(np.arange(-5, 5,
// dtype=np.int32))
TEST(Criterion, C3NormsHaveTheBitsOfPythons) {
  std::vector<float> values;
  for (int i = 0; i < 3000; ++i) values.push_back(static_cast<float>(i * 0.1));
  EXPECT_EQ(norm_of(TaskArray::of(std::span<const float>(values), wire::DType::float32)),
            0x1.2863b09e34bc7p+13);
  const std::vector<std::int32_t> whole = {-5, -4, -3, -2, -1, 0, 1, 2, 3, 4};
  EXPECT_EQ(norm_of(TaskArray::of(std::span<const std::int32_t>(whole), wire::DType::int32)),
            0x1.2706821902e9ap+3);
  EXPECT_EQ(norm_of(doubles({})), 0.0);
}

TEST(Criterion, C3RoundsEndByTheNorm) {
  Progress progress(criterion(R"({"most_rounds": 9, "norm_below": 1})"));
  EXPECT_EQ(add(progress, {3, 4}, false), 5.0);
  EXPECT_FALSE(progress.final());
  add(progress, {0.5}, true);  // degraded: it never converges
  EXPECT_FALSE(progress.final());
  add(progress, {0.5}, false);
  EXPECT_EQ(progress.why, "norm");
  EXPECT_TRUE(progress.converged());
  EXPECT_EQ(progress.completed, 3u);
}

TEST(Criterion, C3RoundsEndByTheRelativeChange) {
  Progress progress(
      criterion(R"({"most_rounds": 9, "relative_change_below": 0.2, "over_rounds": 2})"));
  for (const double norm : {8.0, 4.0, 3.9}) add(progress, {norm}, false);
  EXPECT_FALSE(progress.final());
  add(progress, {3.8}, false);
  EXPECT_EQ(progress.why, "relative-change");
}

TEST(Criterion, C3RoundsEndByTheirNumber) {
  Progress counted(criterion(R"({"most_rounds": 1})"));
  EXPECT_EQ(add(counted, {1}, false), std::nullopt);
  EXPECT_TRUE(counted.converged());
  Progress missed(criterion(R"({"most_rounds": 1, "norm_below": 0.5})"));
  add(missed, {1}, false);
  EXPECT_EQ(missed.why, "rounds");
  EXPECT_FALSE(missed.converged());
  EXPECT_TRUE(Progress(criterion(R"({"most_rounds": 0})")).final());
}

TEST(Criterion, C3ANormThatIsNotFiniteIsAnError) {
  Progress progress(criterion(R"({"most_rounds": 9, "norm_below": 1})"));
  EXPECT_THROW(add(progress, {std::nan("")}, false), TaskError);
  EXPECT_THROW(add(progress, {std::numeric_limits<double>::infinity()}, false), TaskError);
  EXPECT_EQ(progress.completed, 0u);
}

TEST(Criterion, ProgressTravelsWithItsBits) {
  Progress progress(criterion(R"({"most_rounds": 9, "norm_below": 1, "over_rounds": 3})"));
  for (const double norm : {1e16, 3.0, 1.1}) add(progress, {norm}, false);
  const std::string text = progress.to_json();
  EXPECT_EQ(text, R"({"completed": 3, "norms": [1e+16, 3.0, 1.1], "why": ""})");
  const auto back = Progress::of_json(progress.criterion, nlohmann::json::parse(text));
  EXPECT_EQ(back.norms, progress.norms);
  EXPECT_EQ(back.completed, 3u);
  for (const char* bad : {"[]", "{}", R"({"completed": -1, "norms": [], "why": ""})",
                          R"({"completed": 1, "norms": [1], "why": ""})",
                          R"({"completed": 1, "norms": [], "why": "mood"})"})
    EXPECT_THROW(Progress::of_json(progress.criterion, nlohmann::json::parse(bad)),
                 std::invalid_argument)
        << bad;
}

TEST(Criterion, BadCriteriaAreRefused) {
  for (const char* bad :
       {"[]", "{}", R"({"most_rounds": -1})", R"({"most_rounds": 1.5})",
        R"({"most_rounds": 2000000000})", R"({"most_rounds": 1, "norm_below": 0})",
        R"({"most_rounds": 1, "norm_below": "x"})", R"({"most_rounds": 1, "over_rounds": 0})"})
    EXPECT_THROW(criterion(bad), std::invalid_argument) << bad;
}

}  // namespace
}  // namespace tributary::task
