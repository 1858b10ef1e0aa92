#include "tests/fuzz/engine_model.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "aggregator/chunk/contribution.h"
#include "core/wire/extension.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using aggregator::Outgoing;
using aggregator::Verdict;
using wire::PacketType;

std::vector<std::uint32_t> words(std::span<const std::byte> payload) {
  std::vector<std::uint32_t> out(payload.size() / 4);
  if (!out.empty()) std::memcpy(out.data(), payload.data(), out.size() * 4);
  return out;
}

// What the shell will do with it: serialise header and extensions, put the payload behind.
void check_message(const Outgoing& message) {
  const auto extensions = message.extension_span();
  std::vector<std::byte> packet(wire::serialized_bytes(extensions.size()));
  FUZZ_CHECK(wire::serialize(message.header, extensions, packet) == packet.size());
  packet.insert(packet.end(), message.payload.begin(), message.payload.end());
  const auto parsed = wire::parse(packet);
  FUZZ_CHECK(std::holds_alternative<wire::Packet>(parsed));
  FUZZ_CHECK(std::get<wire::Packet>(parsed).header == message.header);
}

}  // namespace

EngineModel::EngineModel(const aggregator::Engine& engine)
    : engine_(engine), jobs_(engine.job_count()) {}

EngineModel::JobModel* EngineModel::find(std::uint32_t job_id) {
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (engine_.job_config(i).id == job_id) return &jobs_[i];
  return nullptr;
}

void EngineModel::after_packet(const wire::Packet& packet, aggregator::Decision decision,
                               const aggregator::Outbox& out) {
  FUZZ_CHECK(decision.verdict != Verdict::dropped || decision.reason != DropReason::none);
  JobModel* job = find(packet.header.job);
  const bool counted = decision.verdict == Verdict::opened || decision.verdict == Verdict::folded ||
                       decision.verdict == Verdict::completed;
  if (counted) {
    FUZZ_CHECK(job != nullptr && packet.header.type == PacketType::contribution);
    contribution(*job, static_cast<std::size_t>(job - jobs_.data()), packet, decision);
  }
  sent(out);
  if (decision.verdict != Verdict::completed) return;
  const auto is_result = [&](const Outgoing& m) {
    return m.header.type == PacketType::result && m.to == Outgoing::To::job_group;
  };
  FUZZ_CHECK(std::count_if(out.items().begin(), out.items().end(), is_result) == 1);
}

void EngineModel::contribution(JobModel& job, std::size_t index, const wire::Packet& packet,
                               aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  const auto& config = engine_.job_config(index);
  FUZZ_CHECK(job.epoch != 0 && h.epoch == job.epoch);
  FUZZ_CHECK(h.child < config.workers && h.origin == h.child && h.shard < config.shards);
  Chunk& chunk = job.chunks[{h.shard, h.seq}];
  FUZZ_CHECK((decision.verdict == Verdict::folded) <= !chunk.ranks.empty());
  FUZZ_CHECK((decision.verdict == Verdict::opened) <= chunk.ranks.empty());
  FUZZ_CHECK(!chunk.complete && chunk.ranks.insert(h.child).second);  // nothing counts twice
  const auto values = words(packet.payload);
  if (chunk.ranks.size() == 1) {
    chunk.exact = h.dtype == wire::DType::int32 && h.reduce_op == wire::ReduceOp::sum;
    chunk.sum.assign(values.size(), 0);
  }
  for (std::size_t i = 0; i < std::min(values.size(), chunk.sum.size()); ++i)
    chunk.sum[i] += values[i];
  chunk.complete = decision.verdict == Verdict::completed;
  const bool passed_on = aggregator::is_passed_on(h);
  FUZZ_CHECK(chunk.complete == (passed_on || chunk.ranks.size() == config.workers));
  ++job.contributions;
  job.completions += chunk.complete ? 1 : 0;
}

void EngineModel::result(JobModel& job, std::size_t index, const Outgoing& message) {
  const wire::Header& h = message.header;
  const auto found = job.chunks.find({h.shard, h.seq});
  FUZZ_CHECK(found != job.chunks.end() && found->second.complete);
  Chunk& chunk = found->second;
  const bool passed_on = aggregator::is_passed_on(h);
  FUZZ_CHECK(h.epoch == job.epoch);
  FUZZ_CHECK(h.covered == (passed_on ? 1 : engine_.job_config(index).workers));
  if (chunk.exact) FUZZ_CHECK(words(message.payload) == chunk.sum);
  // Rule 5: its result never changes.
  const std::vector<std::byte> bits(message.payload.begin(), message.payload.end());
  if (message.to == Outgoing::To::job_group)
    chunk.result = bits;
  else
    FUZZ_CHECK(bits == chunk.result);
}

void EngineModel::sent(const aggregator::Outbox& out) {
  FUZZ_CHECK(out.overflows() == 0 && out.items().size() <= engine_.outbox_capacity());
  for (const Outgoing& message : out.items()) {
    check_message(message);
    JobModel* job = find(message.header.job);
    if (job == nullptr) continue;
    const auto index = static_cast<std::size_t>(job - jobs_.data());
    if (message.header.type == PacketType::start && message.header.epoch != job->epoch) {
      job->epoch = message.header.epoch;
      FUZZ_CHECK(job->epoch != 0);
      job->chunks.clear();
    }
    if (message.header.type == PacketType::abort && message.to == Outgoing::To::job_group) {
      FUZZ_CHECK(message.header.epoch == job->epoch);
      job->epoch = 0;
      job->chunks.clear();
    }
    if (message.header.type == PacketType::result) result(*job, index, message);
  }
}

void EngineModel::after_expiry(const aggregator::Outbox& out) {
  for (const Outgoing& message : out.items())
    FUZZ_CHECK(message.header.type == PacketType::abort && message.to == Outgoing::To::job_group);
  sent(out);
}

void EngineModel::check(Instant now) const {
  constexpr std::size_t kAll = 1u << 20;
  std::map<std::uint32_t, std::uint64_t> open;
  for (const auto& slot : engine_.slot_status(now, kAll)) {
    ++open[slot.job];
    FUZZ_CHECK(slot.arrived >= 1 && slot.arrived < slot.fan_in);
    FUZZ_CHECK(slot.open_for >= Duration());
  }
  const auto status = engine_.job_status(now);
  FUZZ_CHECK(status.size() == jobs_.size());
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const auto& config = engine_.job_config(i);
    const auto& c = engine_.counters(i);
    const std::uint64_t share = std::uint64_t{config.window} * config.shards;
    FUZZ_CHECK(c.slots_open.get() == open[config.id] && c.slots_open.get() <= share);
    FUZZ_CHECK(c.results_retained.get() <= 2 * share);
    FUZZ_CHECK(c.contributions.get() == jobs_[i].contributions);
    FUZZ_CHECK(c.completions.get() == jobs_[i].completions);
    const auto present =
        static_cast<std::uint64_t>(std::count_if(status[i].members.begin(), status[i].members.end(),
                                                 [](const auto& m) { return m.present; }));
    const bool running = status[i].state == aggregator::JobState::running;
    if (running) {
      FUZZ_CHECK(c.members.get() == present && present > 0);
    } else {
      FUZZ_CHECK(c.members.get() == 0 && c.slots_open.get() == 0);
      FUZZ_CHECK(c.results_retained.get() == 0);
    }
  }
}

}  // namespace tributary::fuzz
