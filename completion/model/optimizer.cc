#include "completion/model/optimizer.h"

#include <cmath>
#include <numbers>

namespace tributary::completion {
namespace {

using config::OptimizerConfig;
using config::ScheduleKind;

void sgd(const OptimizerConfig& o, std::uint64_t done, std::span<const float> gradient,
         const Planes& from, const Planes& to) {
  const auto rate = static_cast<float>(rate_after(done, o));
  const auto decay = static_cast<float>(o.weight_decay);
  const auto momentum = static_cast<float>(o.momentum);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float p = from.parameters[i];
    float g = gradient[i];
    if (decay != 0) g += decay * p;
    float direction = g;
    if (momentum != 0) {
      const float b = done == 0 ? g : momentum * from.first[i] + g;
      to.first[i] = b;
      direction = o.nesterov ? g + momentum * b : b;
    }
    to.parameters[i] = p - rate * direction;
  }
}

void adam(const OptimizerConfig& o, std::uint64_t done, std::span<const float> gradient,
          const Planes& from, const Planes& to) {
  const auto t = static_cast<double>(done + 1);
  const double correction = 1 - std::pow(o.beta1, t);
  const auto size = static_cast<float>(rate_after(done, o) / correction);
  const auto root = static_cast<float>(std::sqrt(1 - std::pow(o.beta2, t)));
  const auto decay = static_cast<float>(o.weight_decay);
  const auto epsilon = static_cast<float>(o.epsilon);
  const auto beta1 = static_cast<float>(o.beta1);
  const auto beta2 = static_cast<float>(o.beta2);
  const auto rest1 = static_cast<float>(1 - o.beta1);
  const auto rest2 = static_cast<float>(1 - o.beta2);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float p = from.parameters[i];
    float g = gradient[i];
    if (decay != 0) g += decay * p;
    const float m = beta1 * from.first[i] + rest1 * g;
    const float v = beta2 * from.second[i] + rest2 * g * g;
    to.first[i] = m;
    to.second[i] = v;
    to.parameters[i] = p - size * m / (std::sqrt(v) / root + epsilon);
  }
}

}  // namespace

double rate_after(std::uint64_t done, const OptimizerConfig& o) {
  const config::ScheduleConfig& s = o.schedule;
  if (done < s.warmup) return o.rate * static_cast<double>(done + 1) / s.warmup;
  const std::uint64_t since = done - s.warmup;
  if (s.kind == ScheduleKind::constant) return o.rate;
  if (s.kind == ScheduleKind::step) {
    const std::uint64_t drops = since / s.steps;
    return o.rate * std::pow(s.gamma, static_cast<double>(drops));
  }
  if (since >= s.steps) return s.least;
  const double part = static_cast<double>(since) / s.steps;
  if (s.kind == ScheduleKind::linear) return s.least + (o.rate - s.least) * (1 - part);
  return s.least + (o.rate - s.least) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

void step(const OptimizerConfig& optimizer, std::uint64_t done, std::span<const float> gradient,
          const Planes& from, const Planes& to) {
  if (optimizer.kind == config::OptimizerKind::adam)
    adam(optimizer, done, gradient, from, to);
  else
    sgd(optimizer, done, gradient, from, to);
}

}  // namespace tributary::completion
