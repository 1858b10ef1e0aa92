#include "config/schema/schema_sums.h"

#include <array>
#include <string_view>

#include "config/model/bracketing.h"

namespace tributary::config {
namespace {

// A data type and a reduce op, as in "float32 sum".
Codec<Reduction> reduction() {
  return {"reduction", "a data type and a reduce op that go together, e.g. float32 sum",
          [](const Node& node, Reduction& out) -> std::optional<std::string> {
            const std::size_t space = node.text.find(' ');
            if (space == std::string::npos) return "is not two words";
            const auto type = wire::parse_dtype(std::string_view(node.text).substr(0, space));
            const auto op = wire::parse_reduce_op(std::string_view(node.text).substr(space + 1));
            if (!type || *type == wire::DType::none) return "begins with no data type";
            if (!op) return "ends with no reduce op";
            if (const char* why = wire::why_invalid(*type, *op))
              return std::string("makes no sense: ") + why;
            out = {*type, *op};
            return std::nullopt;
          },
          [](const Reduction& value) {
            return std::optional(std::string(wire::name_of(value.dtype)) + " " +
                                 wire::name_of(value.op));
          }};
}

Fields<JobConfig> way_of_summing() {
  return {
      choice("order", &JobConfig::order,
             {{"fast", wire::Order::fast}, {"reproducible", wire::Order::reproducible}},
             "fast: contributions are combined as they arrive. reproducible: in the declared "
             "order, with the same bits in every run."),
      bracketing_field("bracketing",
                       "The declared order of a reproducible job, with brackets. Left out: by "
                       "rank, without brackets."),
      choice("trigger", &JobConfig::trigger,
             {{"streaming", Trigger::streaming}, {"collect", Trigger::collect}},
             "streaming: each contribution is combined on arrival, or as soon as the declared "
             "order allows. collect: all are held, then combined in one pass in declared order; "
             "takes window x (workers - 1) x chunk_bytes more memory, as reproducible does."),
      choice("partials", &JobConfig::partials,
             {{"wide", wire::Partials::wide}, {"narrow", wire::Partials::narrow}},
             "Sums of 16-bit floats and 8-bit integers between switches. wide: in 4 bytes, rounded "
             "once at the end; a chunk has half or a quarter of the elements. narrow: in the "
             "element's type, rounded at each switch; slots are two or four times as large, and "
             "16-bit floats have no mean."),
      choice("arithmetic", &JobConfig::arithmetic,
             {{"saturating", wire::Arithmetic::saturating}, {"modular", wire::Arithmetic::modular}},
             "Integer sums and products. saturating: overflow is reported, never delivered. "
             "modular: they wrap, as masked data needs."),
      scalars("reductions", &JobConfig::reductions, reduction(), 0, kMaxReductions,
              "Pairs of data type and operation that the job may ask for, beside int64 sum, by "
              "which ranks agree on a retry. Left out: all that make sense."),
  };
}

Fields<JobConfig> slot_use() {
  return {
      choice("slots", &JobConfig::slots,
             {{"static", SlotMode::partition}, {"dynamic", SlotMode::dynamic}},
             "static: a partition of `window` slots of its own. dynamic: shares what the static "
             "jobs leave of `switch.slots` with the other dynamic jobs; a chunk that finds its "
             "slot taken goes to the completion engine."),
      scalar(
          "quota", &JobConfig::quota, integer<std::uint32_t>(0, kMaxWindow),
          "Most slots that a dynamic job may hold at once in a shard; 0: its window. What is "
          "guaranteed to it is the smaller of this and an equal share of the pool; what it holds "
          "beyond that is taken back where it is in the way of a job that holds less, unless "
          "that has a lower priority. The sum so far goes to the completion engine."),
      scalar("priority", &JobConfig::priority, integer<std::uint8_t>(0, 255),
             "A dynamic job's chunk never loses its slot to a job of lower priority, and may take "
             "that of one, see `switch.preempt_idle` and `switch.preempt_busy`; the sum so far "
             "goes to the completion engine."),
      choice("release", &JobConfig::release,
             {{"sent", Release::sent}, {"returned", Release::returned}},
             "When a slot is free whose sum goes to a parent or is verified. sent: at once. "
             "returned: when the result has come back, or the deadline has passed; until then the "
             "sum can be sent again."),
      scalar("verify", &JobConfig::verify, boolean(),
             "Sums go to the completion engine, which checks them, before any worker gets them."),
      choice("on_deadline", &JobConfig::on_deadline,
             {{"abort", OnDeadline::abort}, {"escalate", OnDeadline::escalate}},
             "How a chunk ends whose deadline passes. escalate: the data that has arrived goes to "
             "the completion engine, which waits for the rest. abort: the job's epoch ends."),
      choice("completion_trigger", &JobConfig::completion_trigger,
             {{"collect", Trigger::collect}, {"streaming", Trigger::streaming}},
             "How the completion engine combines late data. collect: holds it until nothing is "
             "missing, then combines once. streaming: adds it to the sum as it arrives, which "
             "frees its memory at once; not with order: reproducible."),
  };
}

}  // namespace

Fields<JobConfig> sum_fields() {
  Fields<JobConfig> fields = way_of_summing();
  for (auto& field : slot_use()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace tributary::config
