#include "pool/store/prefetcher.h"

#include <algorithm>
#include <exception>

#include "pool/store/workers.h"

namespace tributary::pool {
namespace {

constexpr std::uint64_t kMostPiece = 4 << 20;  // unless one record is longer
constexpr std::uint64_t kMostGap = 32 << 10;   // read and dropped to save a request
constexpr std::size_t kMostErrors = 16;

}  // namespace

// Records of one shard that are read by one request.
struct Prefetcher::Piece {
  std::uint32_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> ids;
};

void Prefetcher::run(std::uint64_t first, std::uint64_t count, const Target& target) {
  next_.store(first);
  end_ = first + std::min(count, manifest_.records() - std::min(first, manifest_.records()));
  {
    const std::lock_guard lock(mutex_);
    progress_ = {};
    progress_.running = true;
    stop_ = std::make_unique<StopFlag>();
    if (stopped_) stop_->set();
  }
  run_workers(options_.parallel, [this, &target](std::size_t i) { work(i + 1, target); });
  if (next_ < end_ && !stop_->is_set()) give_up(next_, end_, target, "no worker was left");
  const std::lock_guard lock(mutex_);
  progress_.running = false;
}

void Prefetcher::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (stop_) stop_->set();
}

void Prefetcher::work(std::uint64_t seed, const Target& target) {
  const std::uint64_t group = std::uint64_t{1} << manifest_.group_shift();
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  try {
    RecordReader reader(store_.clone(), manifest_, options_.backoff, *stop_, counters_, seed);
    std::vector<std::byte> buffer;
    for (;;) {
      // Goes from one group's boundary to the next, so that owners do not change inside.
      from = next_.load(std::memory_order_relaxed);
      do {
        to = from;
        if (from >= end_ || stop_->is_set()) return;
        to = std::min((from / group + 1) * group, end_);
      } while (!next_.compare_exchange_weak(from, to, std::memory_order_relaxed));
      read_group(reader, from, to, target, buffer);
    }
  } catch (const std::exception& error) {  // from memory or a thread's lock that cannot be had
    give_up(from, to, target, error.what());
  }
}

void Prefetcher::read_group(RecordReader& reader, std::uint64_t first, std::uint64_t end,
                            const Target& target, std::vector<std::byte>& buffer) {
  Piece piece;
  const auto finish = [&] {
    if (!piece.ids.empty()) read_piece(reader, piece, target, buffer);
    piece = {};
  };
  for (std::uint64_t id = first; id < end && !stop_->is_set(); ++id) {
    if (!target.wants(id)) continue;
    const Source source = manifest_.source(id);
    const bool joins = !piece.ids.empty() && source.shard == piece.shard &&
                       source.offset >= piece.offset + piece.bytes &&
                       source.offset - piece.offset - piece.bytes <= kMostGap &&
                       source.offset + source.length - piece.offset <= kMostPiece;
    if (!joins) finish();  // what it brings takes room from this record
    if (target.has_room && !target.has_room(source.length)) {
      const std::lock_guard lock(mutex_);
      ++progress_.wanted;
      ++progress_.full;
      continue;
    }
    if (!joins) {
      piece.shard = source.shard;
      piece.offset = source.offset;
    }
    piece.bytes = source.offset + source.length - piece.offset;
    piece.ids.push_back(id);
  }
  finish();
}

void Prefetcher::read_piece(RecordReader& reader, const Piece& piece, const Target& target,
                            std::vector<std::byte>& buffer) {
  {
    const std::lock_guard lock(mutex_);
    progress_.wanted += piece.ids.size();
  }
  try {
    buffer.resize(piece.bytes);
    reader.read(piece.shard, piece.offset, buffer);
  } catch (const std::exception& error) {  // the store's, or of memory
    return fail(piece, error.what());
  }
  std::uint64_t stored = 0;
  std::uint64_t bytes = 0;
  for (const std::uint64_t id : piece.ids) {
    const Source source = manifest_.source(id);
    const auto data =
        std::span<const std::byte>(buffer).subspan(source.offset - piece.offset, source.length);
    if (target.deliver(id, data) != Taken::stored) continue;
    ++stored;
    bytes += data.size();
  }
  const std::lock_guard lock(mutex_);
  progress_.stored += stored;
  progress_.stored_bytes += bytes;
  progress_.full += piece.ids.size() - stored;
}

void Prefetcher::fail(const Piece& piece, const std::string& what) {
  if (options_.on_damaged == OnDamaged::stop) stop_->set();
  const std::lock_guard lock(mutex_);
  progress_.failed += piece.ids.size();
  if (progress_.errors.size() < kMostErrors)
    progress_.errors.push_back(manifest_.shards()[piece.shard].name + ", records " +
                               std::to_string(piece.ids.front()) + " to " +
                               std::to_string(piece.ids.back()) + ": " + what);
}

void Prefetcher::give_up(std::uint64_t first, std::uint64_t end, const Target& target,
                         const std::string& what) {
  std::uint64_t left = 0;
  for (std::uint64_t id = first; id < end; ++id) left += target.wants(id) ? 1 : 0;
  if (left == 0) return;
  const std::lock_guard lock(mutex_);
  progress_.failed += left;
  if (progress_.errors.size() < kMostErrors)
    progress_.errors.push_back("records " + std::to_string(first) + " to " +
                               std::to_string(end - 1) + ": " + std::to_string(left) +
                               " were not read: " + what);
}

FillProgress Prefetcher::progress() const {
  const std::lock_guard lock(mutex_);
  FillProgress out = progress_;
  out.retries = counters_.retries.load(std::memory_order_relaxed);
  return out;
}

}  // namespace tributary::pool
