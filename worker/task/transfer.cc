#include "worker/task/transfer.h"

#include <algorithm>
#include <deque>

#include "core/net/byte_order.h"
#include "worker/task/records.h"
#include "worker/task/sha256.h"
#include "worker/task/task_error.h"

namespace tributary::task {
namespace {

constexpr std::size_t kWindow = 4;  // broadcasts in flight
constexpr int kAttempts = 3;
constexpr std::uint64_t kSmallPiece = 1 << 20;
// Before a small thing.
struct SmallHead {
  wire::be64 length;
  Sha256 digest{};
};
static_assert(sizeof(SmallHead) == 40);

struct Flying {
  std::uint64_t index = 0;
  std::vector<std::byte> piece;
  Request request;
};

// The oldest broadcast has ended.
void land(std::deque<Flying>& flying, const End& end) {
  flying.front().request.wait();
  if (end.sink != nullptr) end.sink->take(flying.front().index, flying.front().piece);
  flying.pop_front();
}

void move_pieces(Communicator& comm, std::uint32_t root, std::uint64_t length,
                 std::uint64_t piece_bytes, const End& end, std::uint64_t first) {
  std::deque<Flying> flying;  // its entries stay where they are
  try {
    for (std::uint64_t i = first; i < pieces_of(length, piece_bytes); ++i) {
      const std::size_t size = piece_length(i, length, piece_bytes);
      Flying& one = flying.emplace_back();
      one.index = i;
      if (end.source)
        one.piece = pack_piece(i, end.source->subspan(i * piece_bytes, size));
      else
        one.piece.resize(kPieceHead + size);
      one.request = comm.broadcast(one.piece.data(), one.piece.size(), wire::DType::uint8, root);
      if (flying.size() == kWindow) land(flying, end);
    }
    while (!flying.empty()) land(flying, end);
  } catch (...) {
    // Ops use the memory until they are done, which they soon are where the epoch has ended.
    for (Flying& one : flying) {
      try {
        one.request.wait();
      } catch (const CommunicatorError&) {
      }
    }
    throw;
  }
}

}  // namespace

std::uint64_t agree(Communicator& comm, const std::string& refuse, std::uint64_t held) {
  const auto answers = exchange(comm, Answer{refuse, held, false});
  if (!refuse.empty()) throw TaskError(refuse);
  std::uint64_t first = kNeedsNone;
  for (std::uint32_t rank = 0; rank < answers.size(); ++rank) {
    if (!answers[rank].refuse.empty())
      throw TaskError("rank " + std::to_string(rank) + " refused: " + answers[rank].refuse);
    first = std::min(first, answers[rank].held);
  }
  return first;
}

void run(Communicator& comm, std::uint32_t root, std::uint64_t length, std::uint64_t piece_bytes,
         const End& end, std::uint64_t first) {
  std::vector<std::uint32_t> bad;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    move_pieces(comm, root, length, piece_bytes, end, first);
    Answer own{"", end.source ? pieces_of(length, piece_bytes) : kNeedsNone, true};
    if (end.sink != nullptr) {
      own.good = end.sink->check();
      own.held = end.sink->held();
    }
    const auto answers = exchange(comm, own);
    bad.clear();
    first = kNeedsNone;
    for (std::uint32_t rank = 0; rank < answers.size(); ++rank) {
      if (!answers[rank].good) bad.push_back(rank);
      first = std::min(first, answers[rank].held);
    }
    if (bad.empty()) return;
  }
  throw TaskError(text_of(bad) + " got data with another digest than rank " + std::to_string(root) +
                  " stated, 3 times; does the data change while it is sent?");
}

void send_small(Communicator& comm, std::span<const std::byte> data) {
  SmallHead head{data.size(), sha256(data)};
  comm.broadcast(&head, sizeof head, wire::DType::uint8, comm.rank()).wait();
  run(comm, comm.rank(), data.size(), kSmallPiece, {data, nullptr}, 0);
}

std::vector<std::byte> receive_small(Communicator& comm, std::uint32_t root, bool wanted,
                                     std::uint64_t most) {
  SmallHead head;
  comm.broadcast(&head, sizeof head, wire::DType::uint8, root).wait();
  const std::uint64_t length = head.length;
  if (length > most)
    throw TaskError("rank " + std::to_string(root) + " offers " + std::to_string(length) +
                    " bytes; at most " + std::to_string(most) + " are taken");
  if (!wanted) {
    run(comm, root, length, kSmallPiece, {}, 0);
    return {};
  }
  Sink sink(length, text_of(head.digest), kSmallPiece);
  run(comm, root, length, kSmallPiece, {std::nullopt, &sink}, 0);
  return sink.release();
}

}  // namespace tributary::task
