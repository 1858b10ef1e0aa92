#include "config/model/optimizer_config.h"

namespace tributary::config {
namespace {

using enum Presence;

const Fields<ScheduleConfig>& schedule_fields() {
  using S = ScheduleConfig;
  static const Fields<S> fields = {
      choice("kind", &S::kind,
             {{"constant", ScheduleKind::constant},
              {"step", ScheduleKind::step},
              {"linear", ScheduleKind::linear},
              {"cosine", ScheduleKind::cosine}},
             "constant: `rate` throughout. step: times `gamma` every `steps` steps. linear, "
             "cosine: from `rate` to `least` within `steps` steps, along a line or half a cosine, "
             "and `least` from then on."),
      scalar("warmup", &S::warmup, integer<std::uint32_t>(0, 1'000'000'000),
             "Steps in which the rate first grows linearly to `rate`; the schedule begins after "
             "them."),
      scalar("steps", &S::steps, integer<std::uint32_t>(0, 1'000'000'000),
             "See `kind`; 0 for a constant rate."),
      scalar("gamma", &S::gamma, real(0, 1), "For kind step."),
      scalar("least", &S::least, real(0, 1e6), "For the kinds linear and cosine."),
  };
  return fields;
}

const Fields<CheckpointConfig>& checkpoint_fields() {
  using C = CheckpointConfig;
  static const Fields<C> fields = {
      scalar("directory", &C::directory, absolute_path(),
             "Folder that exists, for `job-ID.checkpoint` and the one before it, "
             "`job-ID.previous.checkpoint`; a server that starts goes on from there. Left out: the "
             "model ends with the server."),
      scalar("every", &C::every, integer<std::uint32_t>(1, 1'000'000'000),
             "Steps from one checkpoint to the next; there is one more when the server is told to "
             "stop."),
  };
  return fields;
}

}  // namespace

const Fields<OptimizerConfig>& optimizer_fields() {
  using O = OptimizerConfig;
  static const Fields<O> fields = [] {
    const auto schedule = [](auto& o) -> auto& {
      return o.schedule;
    };
    const auto checkpoint = [](auto& o) -> auto& {
      return o.checkpoint;
    };
    return Fields<O>{
        scalar("kind", &O::kind,
               one_of<OptimizerKind>({{"sgd", OptimizerKind::sgd}, {"adam", OptimizerKind::adam}}),
               "sgd: stochastic gradient descent, with momentum where that is not 0. adam: Adam. "
               "Formulas and defaults are PyTorch's.",
               required),
        scalars("parameters", &O::parameters, integer<std::uint32_t>(1, kMaxModelElements), 1,
                kMaxModelArrays,
                "The float32 elements of each array that workers update by itself, in the order of "
                "the arrays' numbers."),
        scalar("rate", &O::rate, real(0, 1e6), "The learning rate before the schedule."),
        scalar("weight_decay", &O::weight_decay, real(0, 1e6),
               "Times the parameter, added to its gradient (L2)."),
        scalar("momentum", &O::momentum, real(0, 1, UpperEnd::open),
               "For sgd: decay of the momentum."),
        scalar("nesterov", &O::nesterov, boolean(), "For sgd: Nesterov's momentum."),
        scalar("beta1", &O::beta1, real(0, 1, UpperEnd::open),
               "For adam: decay of the mean gradient."),
        scalar("beta2", &O::beta2, real(0, 1, UpperEnd::open),
               "For adam: decay of the mean square."),
        scalar("epsilon", &O::epsilon, real(0, 1), "For adam: added to the denominator."),
        mapping<O, ScheduleConfig>("schedule", schedule, schedule_fields(),
                                   "How the learning rate changes with the steps."),
        mapping<O, CheckpointConfig>("checkpoint", checkpoint, checkpoint_fields(),
                                     "The model on disk."),
    };
  }();
  return fields;
}

void check_optimizer(const OptimizerConfig& o, const std::string& path, ReadContext& context) {
  if (!context.usable(path)) return;
  const auto report = [&](const char* key, const std::string& what) {
    if (context.usable(path + '.' + key)) context.report(path + '.' + key, what);
  };
  if (o.kind == OptimizerKind::none) return;  // it has none, or a mistake has been reported
  if (o.kind == OptimizerKind::adam && o.momentum != 0)
    report("momentum", "is sgd's; allowed: kind: sgd, or beta1");
  if (o.nesterov && o.momentum == 0)
    report("nesterov", "needs momentum; allowed: a momentum above 0");
  const ScheduleConfig& s = o.schedule;
  if (s.kind == ScheduleKind::constant && s.steps != 0)
    report("schedule.steps", "has no meaning with a constant rate; allowed: 0");
  if (s.kind != ScheduleKind::constant && s.steps == 0)
    report("schedule.kind", "needs steps; allowed: steps of at least 1, or constant");
  if (s.least > o.rate)
    report("schedule.least",
           format_real(s.least) + " is above the rate; allowed: at most " + format_real(o.rate));
}

}  // namespace tributary::config
