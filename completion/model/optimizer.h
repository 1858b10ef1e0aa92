// One optimizer step over a range of parameters (T21), and the learning rate that it takes.
//
// With g the gradient, p the parameter, λ the weight decay, η the rate of the step, t the number of
// the step from 1, and g' = g + λ p:
//
//   sgd            p -= η g'
//   with momentum  b = µ b + g'  (b = g' in the first step);  p -= η b
//   nesterov       b as above;  p -= η (g' + µ b)
//   adam           m = β1 m + (1-β1) g';  v = β2 v + (1-β2) g'²;
//                  p -= η / (1-β1^t) · m / (√v / √(1-β2^t) + ε)
//
// The formulas of torch.optim.SGD and torch.optim.Adam (PyTorch 1.13 documentation), evaluated in
// float32, one rounding per operation, with factors computed in double and rounded once. So the
// bits depend only on the inputs.
//
//   rate: warm-up of W steps: η (s+1)/W for step s < W, counted from 0; then, with u = s - W
//     constant  η                         step    η γ^⌊u/n⌋  (StepLR)
//     linear    least + (η - least) (1 - u/n)  cosine  least + (η - least) (1 + cos(π u/n)) / 2
//   linear and cosine stay at `least` from u = n on (LinearLR, CosineAnnealingLR).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "config/model/optimizer_config.h"

namespace tributary::completion {

// The learning rate of the step after `done` steps.
double rate_after(std::uint64_t done, const config::OptimizerConfig& optimizer);

// The planes of a range of parameters; averages are nullptr if the optimizer has none.
struct Planes {
  float* parameters = nullptr;
  float* first = nullptr;   // sgd: momentum; adam: mean of the gradients
  float* second = nullptr;  // adam: mean of their squares
};

// Does step number `done` + 1, from one version of the range to the other; they do not overlap.
void step(const config::OptimizerConfig& optimizer, std::uint64_t done,
          std::span<const float> gradient, const Planes& from, const Planes& to);

}  // namespace tributary::completion
