#include "sim/rules/congestion_checker.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/wire/ecn.h"
#include "core/wire/rank_bitmap.h"

namespace tributary::sim {
namespace {

using aggregator::Verdict;
using wire::PacketType;

// An announcement may be lost for good: the data comes without it.
bool carries_data(const wire::Header& h) {
  return h.type == PacketType::contribution || h.type == PacketType::aggregate ||
         (h.type == PacketType::escalation && h.covered != 0);
}

bool taken(Verdict verdict) {
  return verdict == Verdict::opened || verdict == Verdict::folded ||
         verdict == Verdict::completed || verdict == Verdict::sent_up ||
         verdict == Verdict::forwarded;
}

bool overlap(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return std::inner_product(
      a.begin(), a.end(), b.begin(), false, std::logical_or<>(),
      [](std::uint64_t left, std::uint64_t right) { return (left & right) != 0; });
}

}  // namespace

CongestionChecker::CongestionChecker(CheckedRun& run) : run_(run) {
  const Scenario& s = run.scenario();
  const auto dynamic = std::count_if(s.jobs.begin(), s.jobs.end(), [](const JobScenario& job) {
    return job.sums.slots == config::SlotMode::dynamic;
  });
  marks_happen_ = s.links.mark_ppm + s.links.mark_bytes != 0 || dynamic > 1;
}

void CongestionChecker::epoch_started(std::uint32_t job) {
  windows_.clear();
  std::erase_if(marks_, [job](const auto& m) { return m.first.job == job; });
}

// Where hosts tell ranks themselves, one may die with what it has said to some: the next one's
// result has the same bits, but has met other queues.
void CongestionChecker::check_window(const WorkerNode& node, std::uint8_t shard) {
  const auto& o = node.options();
  if (o.job->notify != wire::Notify::root || node.session() == nullptr ||
      node.session()->state() != worker::SessionState::running)
    return;
  const worker::Session::Bound bound = node.session()->bound(shard);
  check_window(node, {o.job->id, node.session()->epoch(), shard, bound.base}, bound.limit);
}

void CongestionChecker::check_window(const WorkerNode& node, const ChunkKey& lowest,
                                     std::uint32_t chunks) {
  const auto [known, fresh] = windows_.try_emplace(lowest, chunks);
  if (!fresh && known->second != chunks)
    run_.violation(node.name() + " has a window of " + std::to_string(chunks) + " from seq " +
                   std::to_string(lowest.seq) + " of shard " + std::to_string(lowest.shard) +
                   ", another has " + std::to_string(known->second));
}

// Identifies data by its ranks and the switch that has it: equal for each copy, whatever its
// packet.
CongestionChecker::Piece CongestionChecker::piece_of(const SwitchNode& node,
                                                     const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  const config::JobConfig* const job = node.job(h.job);
  std::vector<std::uint64_t> words(wire::rank_words(job->workers));
  const auto insert = [&](std::uint32_t rank) {
    if (rank / 64 < words.size()) words[rank / 64] |= std::uint64_t{1} << (rank % 64);
  };
  if (h.type == PacketType::contribution)
    insert(h.origin);
  else if (h.type == PacketType::escalation)
    wire::read_rank_bitmaps(packet.extensions, job->workers, words);
  else if (h.child < job->children.size())
    for (const std::uint32_t rank : job->children[h.child].ranks) insert(rank);
  return {node.id(), std::move(words)};
}

// Data that is sent again makes the chunk unclear: the marks of its first copy may be lost. Without
// a resend, a copy may still come twice, because a cable doubles packets or a switch gives up a sum
// that has gone up already. The result has the copy that came to its maker first, and a later copy
// may be cut otherwise. So a mark is due only where the first copy that a switch took had it, and
// no later copy was without. Ranks that disagree make the chunk unclear, too: one may be answered
// alone, like the root of a broadcast.
void CongestionChecker::packet_judged(const SwitchNode& node, const wire::Packet& packet,
                                      aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  if (!marks_happen_ || !carries_data(h)) return;
  const bool again = (h.flags & wire::kFlagResend) != 0;
  if (!again && (!taken(decision.verdict) || node.job(h.job) == nullptr)) return;
  Marks& of_chunk = marks_[{h.job, h.epoch, h.shard, h.seq}];
  const Asked asked{h.collective, h.dtype, h.reduce_op};
  if (!of_chunk.asked) of_chunk.asked = asked;
  if (of_chunk.decided) return;
  const bool disputed =
      run_.index_of(h.job) && run_.job(h.job).disagree && *of_chunk.asked != asked;
  if (again || disputed) of_chunk.unclear = true;
  if (of_chunk.unclear) return of_chunk.pieces.clear();
  const bool marked = wire::is_marked(packet);
  Piece piece = piece_of(node, packet);
  bool first = true;
  for (auto& [known, due] : of_chunk.pieces) {
    if (known.node != piece.node || !overlap(known.ranks, piece.ranks)) continue;
    first = false;
    due = due && marked;
  }
  of_chunk.pieces.try_emplace(std::move(piece), first && marked);
}

// Marks on data after the result is made change nothing.
void CongestionChecker::check_result(const std::string& node, const wire::Header& result) {
  const bool marked = (result.flags & wire::kFlagCe) != 0;
  run_.reach().marked_results += marked ? 1 : 0;
  const auto known = marks_.find({result.job, result.epoch, result.shard, result.seq});
  if (known == marks_.end()) return;
  Marks& of_chunk = known->second;
  if (!of_chunk.decided) {
    of_chunk.decided = true;
    of_chunk.due = std::any_of(of_chunk.pieces.begin(), of_chunk.pieces.end(),
                               [](const auto& piece) { return piece.second; });
    of_chunk.pieces.clear();
  }
  // A degraded result lacks ranks, and a second attempt does not know all marks of the first.
  if (marked || result.attempt != 0 || (result.flags & wire::kFlagDegraded) != 0) return;
  if (of_chunk.due && !of_chunk.unclear)
    run_.violation(node + " says nothing of a mark in the result of job " +
                   std::to_string(result.job) + " shard " + std::to_string(result.shard) + " seq " +
                   std::to_string(result.seq));
}

}  // namespace tributary::sim
