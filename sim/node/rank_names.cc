#include "sim/node/rank_names.h"

#include <algorithm>
#include <string>

#include "core/wire/data_name.h"

namespace tributary::sim {

std::vector<std::byte> named_value(const JobScenario& job, std::uint64_t workload_seed,
                                   std::uint32_t index) {
  Prng random(workload_seed ^ (std::uint64_t{job.id} << 32 | index));
  std::vector<std::byte> value(random.below(job.named_bytes) + 1);
  for (std::byte& one : value) one = static_cast<std::byte>(random.next());
  return value;
}

void RankNames::reset() {
  client_ = std::make_unique<worker::NameClient>();
  open_.clear();
}

// As the library does it (worker/api/progress.cc).
void RankNames::identify(const worker::Session& session) {
  client_->identify({job_.id, session.epoch(), rank_, session.child(), session.fan_in(),
                     wire::segment_bytes(session.start_info().chunk_bytes),
                     job_.integrity == wire::Integrity::crc32c});
}

NamedCall RankNames::start(worker::NameCall::Kind kind, std::uint32_t index, Instant now) {
  NamedCall named{std::make_shared<worker::NameCall>(), index, client_->identity().epoch};
  named.call->kind = kind;
  named.call->name =
      worker::complete_name("value/v=" + std::to_string(index), job_.id, "sim", kind);
  if (kind == worker::NameCall::Kind::put)
    named.call->value = named_value(job_, workload_seed_, index);
  client_->start(named.call, now);
  open_.push_back(named);
  return named;
}

std::vector<NamedCall> RankNames::start_calls(std::uint32_t index, Prng& random, Instant now) {
  std::vector<NamedCall> calls;
  if (producer_of(job_, index) == rank_)
    calls.push_back(start(worker::NameCall::Kind::put, index, now));
  calls.push_back(start(worker::NameCall::Kind::get, random.below(index + 1), now));
  return calls;
}

std::vector<NamedCall> RankNames::take_finished() {
  std::vector<NamedCall> ended;
  while (const auto call = client_->take_finished()) {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const NamedCall& open) { return open.call == call; });
    ended.push_back(*found);
    open_.erase(found);
  }
  return ended;
}

}  // namespace tributary::sim
