// Marks of queues (rule 15): no rank may believe in another window than the others, and where
// nothing is lost no mark may be.
#include <algorithm>

#include "core/wire/ecn.h"
#include "tests/sim/checker.h"

namespace tributary::sim {
namespace {

using aggregator::Verdict;
using wire::PacketType;

// An announcement may be lost for good: the data comes without it.
bool carries_data(const wire::Header& h) {
  return h.type == PacketType::contribution || h.type == PacketType::aggregate ||
         (h.type == PacketType::escalation && h.covered != 0);
}

// Data of an excluded rank is passed on as often as it comes, also when its chunk is done
// elsewhere.
bool taken(Verdict verdict, const Scenario& scenario) {
  if (verdict == Verdict::forwarded)
    return std::none_of(scenario.script.begin(), scenario.script.end(),
                        [](const ScriptEntry& e) { return e.action == ScriptAction::exclude; });
  return verdict == Verdict::opened || verdict == Verdict::folded ||
         verdict == Verdict::completed || verdict == Verdict::sent_up;
}

}  // namespace

// A rank took a result, and may have moved on. Where hosts tell ranks themselves, one may die with
// what it has said to some: the next one's result has the same bits, but has met other queues.
void Checker::on_result_taken(WorkerNode& node, std::uint8_t shard) {
  const auto& o = node.options();
  if (o.job->notify != wire::Notify::root || node.session() == nullptr ||
      node.session()->state() != worker::SessionState::running)
    return;
  const worker::Session::Bound bound = node.session()->bound(shard);
  const ChunkKey key{o.job->id, node.session()->epoch(), shard, bound.base};
  const auto [known, fresh] = bounds_.try_emplace(key, bound.limit);
  if (!fresh && known->second != bound.limit)
    violation(name(node) + " has a window of " + std::to_string(bound.limit) + " from seq " +
              std::to_string(bound.base) + " of shard " + std::to_string(shard) + ", another has " +
              std::to_string(known->second));
}

// What is sent again neither carries marks nor says which were lost with what went before.
void Checker::note_marks(const wire::Packet& packet, aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  if (!carries_data(h)) return;
  const ChunkKey key{h.job, h.epoch, h.shard, h.seq};
  if ((h.flags & wire::kFlagResend) != 0)
    marks_[key] = Mark::unknown;
  else if (wire::is_marked(packet) && taken(decision.verdict, scenario_))
    marks_.try_emplace(key, Mark::due);
}

void Checker::check_mark(const std::string& node, const wire::Header& result) {
  const bool marked = (result.flags & wire::kFlagCe) != 0;
  reach_.marked_results += marked ? 1 : 0;
  // Of somebody who was late nothing is inside; a second attempt knows not all of the first.
  if (marked || result.attempt != 0 || (result.flags & wire::kFlagDegraded) != 0) return;
  const auto known = marks_.find({result.job, result.epoch, result.shard, result.seq});
  if (known != marks_.end() && known->second == Mark::due)
    violation(node + " says nothing of a mark in the result of job " + std::to_string(result.job) +
              " shard " + std::to_string(result.shard) + " seq " + std::to_string(result.seq));
}

}  // namespace tributary::sim
