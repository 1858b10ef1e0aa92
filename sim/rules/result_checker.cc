#include "sim/rules/result_checker.h"

namespace tributary::sim {
namespace {

bool reduces(wire::Collective c) {
  return c == wire::Collective::allreduce || c == wire::Collective::reduce ||
         c == wire::Collective::reduce_scatter;
}

}  // namespace

void ResultChecker::check_result(const std::string& node, const aggregator::Outgoing& result) {
  const wire::Header& h = result.header;
  if (run_.job(h.job).sums.verify && reduces(h.collective) &&
      (h.flags & (wire::kFlagVerified | wire::kFlagOverflow)) == 0)
    run_.violation(node + " sent a result without verification: job " + std::to_string(h.job) +
                   " shard " + std::to_string(h.shard) + " seq " + std::to_string(h.seq));
  // The ranks that do not get a reduced chunk are only told that it is done.
  if (result.payload.empty()) return;
  const std::uint64_t salt = std::uint64_t{h.op} << 32 | h.chunk;
  const std::uint64_t hash = hash_of(result.payload, salt >> 1);
  const auto [known, fresh] = hashes_.try_emplace({h.job, h.epoch, h.shard, h.seq}, hash);
  if (!fresh && known->second != hash)
    run_.violation(node + " sent two results for job " + std::to_string(h.job) + " shard " +
                   std::to_string(h.shard) + " seq " + std::to_string(h.seq));
}

}  // namespace tributary::sim
