#include "dataplane/rdma/connected/op_window.h"

#include <algorithm>

namespace tributary::dataplane {

std::optional<Place> place_at(const WindowTerms& terms, std::uint64_t address, std::size_t most) {
  if (!terms.contains(address, 1)) return std::nullopt;
  const std::uint64_t at = address - terms.base;
  const auto op = static_cast<std::uint32_t>(at / terms.op_bytes);
  const auto offset = static_cast<std::uint32_t>(at % terms.op_bytes);
  if (offset % terms.chunk_bytes != 0) return std::nullopt;
  const std::uint32_t chunk = offset / terms.chunk_bytes;
  const std::uint32_t bytes = terms.bytes_of(chunk);
  if (bytes > most) return std::nullopt;
  return Place{op * terms.chunks() + chunk, bytes};
}

std::uint32_t ring_place(const WindowTerms& terms, std::uint64_t n) {
  return static_cast<std::uint32_t>(n % (std::uint64_t{2} * terms.ops * terms.chunks()));
}

std::uint64_t ring_address(const WindowTerms& terms, std::uint64_t n) {
  const std::uint64_t slot = n / terms.chunks() % (std::uint64_t{2} * terms.ops);
  return terms.ring_base + slot * terms.op_bytes + n % terms.chunks() * terms.chunk_bytes;
}

const char* object_to(const WindowTerms& terms, wire::Partials partials) {
  if (const char* const why = wire::why_invalid(terms.dtype, terms.reduce_op, partials)) return why;
  const std::size_t size = wire::size_of(terms.dtype);
  const std::size_t elements =
      wire::elements_per_chunk(terms.chunk_bytes, terms.dtype, terms.reduce_op, partials, true);
  if (elements * size != terms.chunk_bytes)
    return "sums of 8 and 16 bits need narrow partials in the job";
  if (terms.op_bytes == 0 || terms.op_bytes % size != 0)
    return "op bytes must be a multiple of the element's size";
  constexpr std::uint32_t kMost = 1u << 30;
  if (terms.op_bytes > kMost) return "op bytes must be at most 1073741824";
  return nullptr;
}

OpWindow::OpWindow(std::uint32_t window)
    : window_(window), marks_(2 * std::size_t{window}), sent_of_op_(4 * std::size_t{window}) {}

std::size_t OpWindow::table_bytes(std::uint32_t window) {
  return std::size_t{window} * (2 * sizeof(std::uint8_t) + 4 * sizeof(std::uint32_t));
}

std::size_t OpWindow::table_bytes() const {
  return marks_.capacity() + sent_of_op_.capacity() * sizeof(std::uint32_t);
}

void OpWindow::start(const WindowTerms& terms) {
  chunks_ = terms.chunks();
  places_ = terms.ops * chunks_;
  base_ = written_ = written_before_ = question_ = last_question_ = 0;
  whole_ = kNone;
  std::fill(marks_.begin(), marks_.end(), std::uint8_t{0});
  std::fill(sent_of_op_.begin(), sent_of_op_.end(), 0u);
}

std::optional<std::uint64_t> OpWindow::next_at(std::uint32_t place) const {
  const std::uint64_t round = base_ / places_ * places_;
  std::uint64_t n = round + place;
  if (n < base_) n += places_;
  while (n - base_ < window_ && (marks_[index(n)] & kWritten) != 0) n += places_;
  return n - base_ < window_ ? std::optional(n) : std::nullopt;
}

bool OpWindow::is_granted(std::uint64_t n) const {
  if (n < places_ || n - places_ < base_) return true;
  return (marks_[index(n - places_)] & kSent) != 0;
}

bool OpWindow::only_waits() const {
  const std::uint64_t end = base_ + window_;
  std::uint64_t n = base_;
  while (n != end && is_written(n)) ++n;
  if (n == base_ || n % chunks_ != 0) return false;
  while (n != end && !is_written(n)) ++n;
  return n == end;
}

bool OpWindow::note_sent(std::uint64_t n) {
  if (n < base_ || n - base_ >= marks_.size() || (marks_[index(n)] & kSent) != 0) return false;
  marks_[index(n)] |= kSent;
  const std::uint64_t op = n / chunks_;
  std::uint32_t& sent = sent_of_op_[op & (sent_of_op_.size() - 1)];
  if (++sent == chunks_) {
    sent = 0;
    whole_ = op;
  }
  return true;
}

void OpWindow::begin_round() {
  question_ = base_;
  last_question_ = written_before_;
  written_before_ = written_;
}

std::optional<std::uint64_t> OpWindow::next_question() {
  question_ = std::max(question_, base_);
  while (question_ < last_question_) {
    const std::uint64_t n = question_++;
    if ((marks_[index(n)] & (kWritten | kSent)) == kWritten) return n;
  }
  return std::nullopt;
}

void OpWindow::note_held(std::uint64_t n) {
  if (n < base_ || n - base_ >= marks_.size()) return;
  marks_[index(n)] |= kHeld;
  for (; (marks_[index(base_)] & kHeld) != 0; ++base_) marks_[index(base_)] = 0;
}

}  // namespace tributary::dataplane
