// Marks of queues (rule 15): no rank may believe in another window than the others, and where
// nothing is lost no mark may be.
#include <algorithm>
#include <functional>
#include <numeric>

#include "core/wire/ecn.h"
#include "core/wire/rank_bitmap.h"
#include "sim/check/checker.h"

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

// Identifies data by its ranks and the switch that has it: equal for each copy, whatever its
// packet.
Checker::Piece Checker::piece_of(const SwitchNode& node, const wire::Packet& packet) const {
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
void Checker::note_marks(const SwitchNode& node, const wire::Packet& packet,
                         aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  if (!marks_happen_ || !carries_data(h)) return;
  const bool again = (h.flags & wire::kFlagResend) != 0;
  if (!again && (!taken(decision.verdict) || node.job(h.job) == nullptr)) return;
  Marks& of_chunk = marks_[{h.job, h.epoch, h.shard, h.seq}];
  const Asked asked{h.collective, h.dtype, h.reduce_op};
  if (!of_chunk.asked) of_chunk.asked = asked;
  if (of_chunk.decided) return;
  const auto job = index_of(h.job);
  const bool disputed = job && jobs_[*job].scenario->disagree && *of_chunk.asked != asked;
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
void Checker::check_mark(const std::string& node, const wire::Header& result) {
  const bool marked = (result.flags & wire::kFlagCe) != 0;
  reach_.marked_results += marked ? 1 : 0;
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
    violation(node + " says nothing of a mark in the result of job " + std::to_string(result.job) +
              " shard " + std::to_string(result.shard) + " seq " + std::to_string(result.seq));
}

}  // namespace tributary::sim
