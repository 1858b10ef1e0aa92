#include "tests/sim/reach.h"

#include <cstdio>
#include <numeric>

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;

constexpr std::array<const char*, kVerdictCount> kVerdictNames = {
    "opened",        "folded",  "completed", "answered",  "noted",
    "epoch-aborted", "refused", "dropped",   "forwarded", "sent-up"};
static_assert(static_cast<std::size_t>(Verdict::sent_up) + 1 == kVerdictCount);
constexpr std::array<const char*, kChunkStateCount> kStateNames = {"unseen",   "open", "complete",
                                                                   "released", "sent", "escalated"};
static_assert(static_cast<std::size_t>(ChunkState::escalated) + 1 == kChunkStateCount);

constexpr const char* kNothingEscalates = "every job keeps its slots until a chunk ends";

// A visitor gets each item's name, count and the reason why it cannot be reached.
template <typename Visitor>
void visit(const Reach& r, Visitor visitor) {
  for (std::size_t v = 0; v < kVerdictCount; ++v)
    visitor("verdict " + std::string(kVerdictNames[v]), r.verdicts[v],
            static_cast<Verdict>(v) == Verdict::forwarded ? kNothingEscalates : nullptr);
  for (std::size_t d = 0; d < kDropReasonCount; ++d) {
    const auto reason = static_cast<DropReason>(d);
    visitor("drop " + std::string(drop_label(reason)), r.switch_drops[d] + r.worker_drops[d],
            unreachable(reason));
  }
  for (std::size_t f = 0; f < kFaultKindCount; ++f)
    for (std::size_t s = 0; s < kChunkStateCount; ++s) {
      const auto kind = static_cast<FaultKind>(f);
      visitor("fault " + std::string(name_of(kind)) + " x " + kStateNames[s], r.faults[f][s],
              unreachable(kind, static_cast<ChunkState>(s)));
    }
}

}  // namespace

const char* unreachable(DropReason reason) {
  switch (reason) {
    case DropReason::frame_multi_segment: return "simulated frames are in one piece";
    case DropReason::no_mbuf: return "the simulated switch has no buffer pool";
    case DropReason::overlap:
    case DropReason::no_slot: return kNothingEscalates;
    default: return nullptr;
  }
}

const char* unreachable(FaultKind, ChunkState state) {
  return state == ChunkState::escalated ? kNothingEscalates : nullptr;
}

void Reach::add(const Reach& other) {
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  for (std::size_t i = 0; i < switch_drops.size(); ++i) {
    switch_drops[i] += other.switch_drops[i];
    worker_drops[i] += other.worker_drops[i];
  }
  for (std::size_t f = 0; f < faults.size(); ++f)
    for (std::size_t s = 0; s < kChunkStateCount; ++s) faults[f][s] += other.faults[f][s];
}

std::uint64_t Reach::fault_total() const {
  std::uint64_t sum = 0;
  for (std::size_t f = 0; f < kFaultKindCount; ++f) sum += fault_total(static_cast<FaultKind>(f));
  return sum;
}

std::uint64_t Reach::fault_total(FaultKind kind) const {
  const auto& by_state = faults[static_cast<std::size_t>(kind)];
  return std::accumulate(by_state.begin(), by_state.end(), std::uint64_t{0});
}

std::string Reach::table() const {
  std::string text;
  visit(*this, [&](const std::string& name, std::uint64_t count, const char* why_not) {
    std::array<char, 96> line{};
    std::snprintf(line.data(), line.size(), "  %-40s %12llu", name.c_str(),
                  static_cast<unsigned long long>(count));
    text += line.data();
    if (why_not != nullptr) text += std::string("  cannot occur: ") + why_not;
    text += "\n";
  });
  return text;
}

std::string Reach::shortfall(std::uint64_t least) const {
  std::string text;
  visit(*this, [&](const std::string& name, std::uint64_t count, const char* why_not) {
    if (why_not == nullptr && count < least)
      text += name + ": " + std::to_string(count) + " of " + std::to_string(least) + "\n";
    if (why_not != nullptr && count > 0)
      text += name + ": reached " + std::to_string(count) + " times, though listed as: " + why_not +
              "\n";
  });
  return text;
}

}  // namespace tributary::sim
