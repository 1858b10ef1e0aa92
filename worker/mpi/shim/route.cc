#include "worker/mpi/shim/route.h"

#include <limits>

#include "worker/mpi/shim/counting.h"

namespace tributary::mpi {
namespace {

bool reduces(Kind kind) {
  return kind == Kind::allreduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

std::string describe(const Call& call) {
  std::string text = call.name;
  if (call.kind == Kind::barrier) return text;
  text += ", " + std::to_string(call.bytes) + " bytes";
  if (!reduces(call.kind)) return text;
  if (call.type != nullptr) text += std::string(" of ") + wire::name_of(call.type->dtype);
  if (call.op) text += std::string(", ") + wire::name_of(*call.op);
  return text;
}

bool has_root(Kind kind) {
  return kind == Kind::reduce || kind == Kind::bcast;
}

bool is_rank(int rank, MPI_Comm comm) {
  int size = 0;
  if (comm != MPI_COMM_NULL) real().Comm_size(comm, &size);
  return rank >= 0 && rank < size;
}

// The reason in the call itself for not offloading it; "" if there is none.
std::string obstacle(const Call& call, const Settings& settings) {
  const std::size_t threshold = settings.threshold_of(call.kind);
  if (threshold == kNever) return std::string(name_of(call.kind)) + " is off";
  if (call.bytes < threshold)
    return "below the threshold of " + std::to_string(threshold) + " bytes";
  if (call.kind == Kind::barrier) return {};
  if (call.bytes == 0) return "no data";
  if (has_root(call.kind) && !is_rank(call.root, call.comm)) return "a root that is no rank";
  if (!reduces(call.kind))
    return call.bytes > std::numeric_limits<int>::max() ? "more than 2 GiB" : "";
  if (call.type == nullptr) return "a type that the switch does not sum";
  if (!call.op) return "an operation that the switch does not do";
  const char* const why = why_not(*call.type, *call.op);
  if (why != nullptr) return why;
  if (call.bytes / wire::size_of(call.type->dtype) > std::numeric_limits<std::uint32_t>::max())
    return "more than 2^32 - 1 elements";
  return {};
}

// The reason in the job for not offloading it: MPI programs expect integers to wrap.
std::string obstacle(const Call& call, const Binding& binding) {
  if (binding.communicator == nullptr) return binding.why;
  const bool may_overflow = reduces(call.kind) && wire::is_integer(call.type->dtype) &&
                            (*call.op == wire::ReduceOp::sum || *call.op == wire::ReduceOp::prod);
  if (may_overflow && !binding.communicator->modular())
    return "job " + std::to_string(binding.job) +
           " reports integers that overflow: its arithmetic is not modular";
  return {};
}

}  // namespace

std::shared_ptr<Binding> choose(const Call& call) {
  const Settings& settings = runtime()->settings;
  std::shared_ptr<Binding> binding;
  std::string why = obstacle(call, settings);
  if (why.empty() && call.comm == MPI_COMM_NULL) why = "no communicator";
  if (why.empty()) {
    binding = find_binding(call.comm);
    if (binding == nullptr && !call.nonblocking) binding = bind(call.comm);
    why = binding == nullptr ? "the communicator has no job before a blocking call is offloaded"
                             : obstacle(call, *binding);
  }
  if (settings.log)
    say(describe(call) + ": " +
        (why.empty() ? "job " + std::to_string(binding->job) : "MPI, " + why));
  if (!why.empty()) return nullptr;
  count_to_switch(call.kind);
  return binding;
}

int fail(const Call& call, const Binding& binding, const std::exception& why) {
  const int code = error_of(call.name, binding, why);
  real().Comm_call_errhandler(call.comm, code);
  return code;
}

int fail_alone(const Call& call, Binding& binding, Offloaded work) {
  say(std::string(call.name) + ", job " + std::to_string(binding.job) + ": " + work.why());
  const int code = class_of(work.mistake());
  std::erase_if(binding.refused, [](const auto& old) { return old->done(); });
  binding.refused.push_back(std::make_shared<Offloaded>(std::move(work)));
  real().Comm_call_errhandler(call.comm, code);
  return code;
}

}  // namespace tributary::mpi
