// T21: the optimizers' steps, bit for bit, and the schedules.
#include "completion/model/optimizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace tributary::completion {
namespace {

using config::OptimizerConfig;
using config::OptimizerKind;
using config::ScheduleKind;

using Values = std::vector<float>;
const Values kFirst = {0.5f, -1.25f, 3.0f, 1e-3f};
const std::array<Values, 3> kGradients = {
    {{0.1f, -0.2f, 0.3f, 4.0f}, {-0.05f, 0.7f, 0.0f, -1.5f}, {0.333f, 0.01f, -2.0f, 0.25f}}};

// The parameters after all the gradients.
Values train(const OptimizerConfig& o) {
  std::array<std::array<Values, 3>, 2> versions;
  for (auto& version : versions) version.fill(Values(kFirst.size()));
  versions[0][0] = kFirst;
  const auto planes = [&](std::size_t v) {
    return Planes{versions[v][0].data(), versions[v][1].data(), versions[v][2].data()};
  };
  for (std::size_t t = 0; t < kGradients.size(); ++t)
    step(o, t, kGradients[t], planes(t & 1), planes((t + 1) & 1));
  return versions[kGradients.size() & 1][0];
}

// The expected numbers are those of PyTorch 1.13's torch.optim._single_tensor_sgd and
// _single_tensor_adam, carried out in NumPy float32, as hexadecimal floats.
TEST(Optimizer, SgdHasPyTorchsBits) {
  OptimizerConfig o;
  o.kind = OptimizerKind::sgd;
  o.rate = 0.1;
  EXPECT_EQ(train(o), (Values{0x1.d8c7e2p-2f, -0x1.4d0e58p+0f, 0x1.95c29p+1f, -0x1.189376p-2f}));
  o.weight_decay = 0.01;
  EXPECT_EQ(train(o), (Values{0x1.d742fcp-2f, -0x1.4c16dap+0f, 0x1.949deap+1f, -0x1.17e9f6p-2f}));
  o.momentum = 0.9;
  EXPECT_EQ(train(o), (Values{0x1.c90ad4p-2f, -0x1.52a2fcp+0f, 0x1.8d0e48p+1f, -0x1.a4ad78p-1f}));
  o.nesterov = true;
  EXPECT_EQ(train(o), (Values{0x1.a5d824p-2f, -0x1.5cdbd2p+0f, 0x1.a06366p+1f, -0x1.031498p+0f}));
}

TEST(Optimizer, AdamHasPyTorchsBits) {
  OptimizerConfig o;
  o.kind = OptimizerKind::adam;
  EXPECT_EQ(train(o), (Values{0x1.fe041cp-2f, -0x1.3ffcccp+0f, 0x1.7fdb78p+1f, -0x1.67831cp-11f}));
  o.rate = 0.05;
  o.beta1 = 0.8;
  o.beta2 = 0.95;
  o.epsilon = 1e-3;
  o.weight_decay = 0.1;
  EXPECT_EQ(train(o), (Values{0x1.851e0ep-2f, -0x1.39fc3p+0f, 0x1.766416p+1f, -0x1.40a09p-4f}));
}

// A second opinion, in another precision: float32 may differ by its own roundings only.
TEST(Optimizer, AdamIsTheFormula) {
  OptimizerConfig o;
  o.kind = OptimizerKind::adam;
  const Values got = train(o);
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    double p = static_cast<double>(kFirst[i]);
    double m = 0;
    double v = 0;
    for (std::size_t t = 1; t <= kGradients.size(); ++t) {
      const auto g = static_cast<double>(kGradients[t - 1][i]);
      const auto n = static_cast<double>(t);
      m = o.beta1 * m + (1 - o.beta1) * g;
      v = o.beta2 * v + (1 - o.beta2) * g * g;
      p -= o.rate * (m / (1 - std::pow(o.beta1, n))) /
           (std::sqrt(v / (1 - std::pow(o.beta2, n))) + o.epsilon);
    }
    EXPECT_NEAR(static_cast<double>(got[i]), p, 4e-7 * std::max(1.0, std::abs(p)));
  }
}

// Worked by hand from the formulas of StepLR, LinearLR and CosineAnnealingLR.
TEST(Optimizer, SchedulesFollowTheirFormulas) {
  OptimizerConfig o;
  o.rate = 0.8;
  EXPECT_EQ(rate_after(1'000'000, o), 0.8);
  o.schedule.warmup = 4;
  EXPECT_EQ(rate_after(0, o), 0.2);
  EXPECT_EQ(rate_after(3, o), 0.8);
  EXPECT_EQ(rate_after(4, o), 0.8);

  o.schedule.kind = ScheduleKind::step;
  o.schedule.steps = 10;
  o.schedule.gamma = 0.5;
  EXPECT_EQ(rate_after(4 + 9, o), 0.8);
  EXPECT_EQ(rate_after(4 + 10, o), 0.4);
  EXPECT_EQ(rate_after(4 + 29, o), 0.2);

  o.schedule.kind = ScheduleKind::linear;
  o.schedule.least = 0.3;
  EXPECT_EQ(rate_after(4, o), 0.8);
  EXPECT_DOUBLE_EQ(rate_after(4 + 5, o), 0.55);
  EXPECT_EQ(rate_after(4 + 10, o), 0.3);
  EXPECT_EQ(rate_after(4'000'000'000, o), 0.3);

  o.schedule.kind = ScheduleKind::cosine;
  EXPECT_EQ(rate_after(4, o), 0.8);
  EXPECT_DOUBLE_EQ(rate_after(4 + 5, o), 0.55);
  EXPECT_NEAR(rate_after(4 + 2, o), 0.3 + 0.25 * (1 + std::cos(std::acos(-1.0) / 5)), 1e-15);
  EXPECT_EQ(rate_after(4 + 10, o), 0.3);
}

TEST(Optimizer, TheStepsRateIsTheSchedules) {
  OptimizerConfig o;
  o.kind = OptimizerKind::sgd;
  o.rate = 1;
  o.schedule = {ScheduleKind::linear, 0, 4, 0.1, 0};
  Values from = {1.0f};
  Values to = {0.0f};
  step(o, 3, Values{1.0f}, {from.data(), nullptr, nullptr}, {to.data(), nullptr, nullptr});
  EXPECT_EQ(to[0], 0.75f);
}

}  // namespace
}  // namespace tributary::completion
