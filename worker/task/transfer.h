// Data from one rank to all others of a job, by broadcasts of pieces, until all have its digest
// (worker/python/tributary/_task/transfer.py).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/task/sink.h"

namespace tributary::task {

inline constexpr std::uint64_t kMostSmall = std::uint64_t{16} << 30;
// Pieces of a rank that needs none.
inline constexpr std::uint64_t kNeedsNone = (std::uint64_t{1} << 62) - 1;

// An end of a transfer: what the sender has, or where a receiver puts it; neither: it takes part.
struct End {
  std::optional<std::span<const std::byte>> source;
  Sink* sink = nullptr;
};

// First answers: the first piece that a rank lacks. `refuse`: why this rank takes no part, "" if it
// does. Throws TaskError if one refuses.
std::uint64_t agree(Communicator& comm, const std::string& refuse, std::uint64_t held);
// All of a transfer after that. Throws TaskError, on every rank, if some rank never gets data with
// the right digest.
void run(Communicator& comm, std::uint32_t root, std::uint64_t length, std::uint64_t piece_bytes,
         const End& end, std::uint64_t first);

// Data that fits memory, of rank `root`, which gives it; others may want it.
std::vector<std::byte> receive_small(Communicator& comm, std::uint32_t root, bool wanted = true,
                                     std::uint64_t most = kMostSmall);
void send_small(Communicator& comm, std::span<const std::byte> data);

}  // namespace tributary::task
