#include "worker/api/collective_call.h"

#include <limits>
#include <string>

#include "worker/session/block_scaled.h"

namespace tributary::worker {
namespace {

using wire::Collective;

std::string name(const CollectiveCall& call) {
  return wire::name_of(call.collective);
}

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(text);
}

void check_elements(const CollectiveCall& call, wire::Partials partials) {
  const bool reduces =
      call.collective == Collective::allreduce || call.collective == Collective::reduce ||
      call.collective == Collective::reduce_scatter || wire::concerns_model(call.collective);
  if (call.encoding == wire::Encoding::block_scaled) {
    if (call.collective != Collective::allreduce || call.dtype != wire::DType::float32 ||
        call.op != wire::ReduceOp::sum)
      refuse(name(call) + " of " + wire::name_of(call.dtype) + " with " + wire::name_of(call.op) +
             " cannot be block-scaled; allreduce of float32 with sum can");
    return;
  }
  if (call.encoding != wire::Encoding::plain)
    refuse(name(call) + ": unknown encoding; plain and block-scaled are known");
  if (wire::size_of(call.dtype) == 0) refuse(name(call) + ": unknown data type");
  if (!reduces) return;
  if (const char* why = wire::why_invalid(call.dtype, call.op, partials))
    refuse(name(call) + " of " + wire::name_of(call.dtype) + " with " + wire::name_of(call.op) +
           ": " + why);
}

void check_exponent(const CollectiveCall& call, wire::Arithmetic arithmetic) {
  if (!call.scale_exponent) return;
  if (call.encoding != wire::Encoding::block_scaled)
    refuse(name(call) + ": a scale exponent is for the encoding block-scaled only");
  if (*call.scale_exponent < BlockScaled::kLeastExponent ||
      *call.scale_exponent > BlockScaled::kMostExponent)
    refuse(name(call) + ": scale exponent " + std::to_string(*call.scale_exponent) +
           "; allowed are " + std::to_string(BlockScaled::kLeastExponent) + " to " +
           std::to_string(BlockScaled::kMostExponent));
  if (arithmetic == wire::Arithmetic::modular)
    refuse(name(call) +
           ": the job's arithmetic is modular, so that an overflow under a chosen scale exponent "
           "would not be seen; leave it out, or make the job saturating");
}

// The server updates float32 parameters by float32 gradients.
void check_model(const CollectiveCall& call) {
  if (!wire::concerns_model(call.collective)) return;
  const bool opens = call.collective == Collective::open;
  const bool asks_step = opens && call.array == wire::kModelStep;
  const bool averages = !opens && call.op == wire::ReduceOp::mean;
  if (call.dtype != (asks_step ? wire::DType::uint32 : wire::DType::float32) ||
      (call.op != wire::ReduceOp::sum && !averages))
    refuse(
        name(call) + " of " + wire::name_of(call.dtype) + " with " + wire::name_of(call.op) +
        ": parameters are float32, first values are brought with sum, gradients with sum or mean");
  if (call.array > wire::kModelStep || (!opens && call.array == wire::kModelStep))
    refuse(name(call) + " of array " + std::to_string(call.array) + ": allowed are 0 to " +
           std::to_string(wire::kModelStep - 1));
  if (call.count == 0) refuse(name(call) + " of nothing: an array has at least one parameter");
}

}  // namespace

void check_call(const CollectiveCall& call, std::uint32_t ranks, wire::Partials partials,
                wire::Arithmetic arithmetic) {
  if (static_cast<std::uint8_t>(call.collective) > wire::kCollectiveMax)
    refuse("unknown collective");
  if (call.collective == Collective::barrier) return;
  check_elements(call, partials);
  check_exponent(call, arithmetic);
  check_model(call);
  const bool parts =
      call.collective == Collective::all_gather || call.collective == Collective::reduce_scatter;
  if (call.root >= ranks)
    refuse(name(call) + ": root " + std::to_string(call.root) + " of " + std::to_string(ranks) +
           " ranks");
  if (call.count == 0) return;
  if (call.data == nullptr) refuse(name(call) + ": data is null");
  if (parts && call.output == nullptr) refuse(name(call) + ": output is null");
  // Chunk numbers have 32 bits.
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (call.count > kMost / (parts ? ranks : 1))
    refuse(name(call) + " of " + std::to_string(call.count) + " elements" +
           (parts ? " for each rank" : "") + ": at most 2^32 - 1 in one op");
}

}  // namespace tributary::worker
