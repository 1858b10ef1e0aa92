#include "worker/task/piece_cache.h"

#include "worker/task/npy.h"
#include "worker/task/records.h"

namespace tributary::task {
namespace {

std::string name_of(const CachedTask& task, std::uint64_t index) {
  return "/job/" + std::to_string(task.job) + "/run=" + short_name(task.identity) +
         "/task/data/v=" + std::to_string(index + 1);
}

}  // namespace

std::string put_pieces(Communicator& comm, const CachedTask& task,
                       std::span<const std::byte> data) {
  const Manifest& m = task.manifest;
  const std::uint64_t count = pieces_of(m.length, m.piece_bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto payload = data.subspan(i * m.piece_bytes, piece_length(i, m.length, m.piece_bytes));
    TaskArray piece{wire::DType::uint8, {}, pack_piece(i, payload)};
    piece.shape = {piece.bytes.size()};
    try {
      comm.put(name_of(task, i), to_npy(piece));
    } catch (const CommunicatorError& error) {
      return error.what();
    }
  }
  return "";
}

void get_pieces(Communicator& comm, const CachedTask& task, Sink& sink) {
  const Manifest& m = task.manifest;
  const std::uint64_t count = pieces_of(m.length, m.piece_bytes);
  for (std::uint64_t i = sink.held(); i < count; ++i) {
    try {
      const auto value = comm.get(name_of(task, i));
      const auto piece = bytes_of_npy(value, kPieceHead + piece_length(i, m.length, m.piece_bytes));
      if (!piece) return;
      sink.take(i, *piece);
    } catch (const CommunicatorError&) {
      return;
    }
    if (sink.held() != i + 1) return;
  }
}

}  // namespace tributary::task
