#include "pool/record/tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tributary::pool {
namespace {

constexpr std::size_t kMaxBody = 64 << 10;

std::string_view field(std::span<const std::byte> block, std::size_t at, std::size_t bytes) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + at, bytes);
  return all.substr(0, std::min(all.find('\0'), bytes));
}

// Parses octal text, or GNU's base 256 if the first bit is set. Returns false if it is neither.
bool number(std::span<const std::byte> block, std::size_t at, std::size_t bytes,
            std::uint64_t& out) {
  const auto raw = block.subspan(at, bytes);
  out = 0;
  if ((std::to_integer<unsigned>(raw[0]) & 0x80) != 0) {
    for (std::size_t i = 1; i < bytes; ++i) {
      if (out >> 56 != 0) return false;
      out = out << 8 | std::to_integer<std::uint64_t>(raw[i]);
    }
    return (std::to_integer<unsigned>(raw[0]) & 0x7F) == 0;
  }
  bool any = false;
  for (const std::byte b : raw) {
    const char c = static_cast<char>(b);
    if (c == ' ' && !any) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return false;
    out = out << 3 | static_cast<std::uint64_t>(c - '0');
    any = true;
  }
  return true;
}

bool checksum_fits(std::span<const std::byte> block) {
  std::uint64_t stored = 0;
  if (!number(block, 148, 8, stored)) return false;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : std::to_integer<std::uint64_t>(block[i]);
  return sum == stored;
}

constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// True for "__info__", and for "__info__/x".
bool is_meta(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

}  // namespace

TarParser::Step TarParser::fail(const std::string& what) {
  problem_ = "at byte " + std::to_string(offset_) + ": " + what;
  return Step::bad;
}

TarParser::Step TarParser::feed(std::span<const std::byte> bytes) {
  if (in_body_) return bytes.size() == body_bytes_ ? feed_body(bytes) : fail("ends in a long name");
  return bytes.size() == kTarBlock ? feed_header(bytes) : fail("ends in a header");
}

TarParser::Step TarParser::feed_header(std::span<const std::byte> block) {
  if (std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; })) {
    offset_ += kTarBlock;
    if (empty_before_) return Step::end;
    empty_before_ = true;
    return Step::header;
  }
  if (empty_before_) return fail("goes on behind an empty block");
  std::uint64_t bytes = 0;
  if (!checksum_fits(block)) return fail("is no tar header");
  if (!number(block, 124, 12, bytes) || bytes > std::uint64_t{1} << 48)
    return fail("has a size that is no number");
  if (fresh_) first_ = offset_;
  fresh_ = false;
  const char kind = static_cast<char>(block[156]);
  offset_ += kTarBlock;
  if (kind == 'L' || kind == 'x') {
    if (bytes == 0 || bytes > kMaxBody)
      return fail("has a long name of " + std::to_string(bytes) + " bytes");
    in_body_ = true;
    body_kind_ = kind;
    body_bytes_ = bytes;
    return Step::body;
  }
  if (has_pax_size_) bytes = pax_size_;
  const bool regular = kind == '0' || kind == '\0' || kind == '7';
  std::string name(field(block, 0, 100));
  const std::string_view prefix = field(block, 345, 155);
  if (field(block, 257, 5) == "ustar" && static_cast<char>(block[262]) == '\0' && !prefix.empty())
    name = std::string(prefix) + '/' + name;
  if (!long_name_.empty()) name = long_name_;
  member_ = {std::move(name), first_, offset_, bytes};
  long_name_.clear();
  has_pax_size_ = false;
  fresh_ = true;
  // Links and folders have no data, whatever their size field says; a global header has data.
  const bool has_data = regular || kind == 'g' || kind == 'K';
  offset_ += has_data ? padded(bytes) : 0;
  return regular ? Step::member : Step::header;
}

TarParser::Step TarParser::feed_body(std::span<const std::byte> body) {
  in_body_ = false;
  offset_ += padded(body_bytes_);
  std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  if (body_kind_ == 'L') {
    long_name_ = text.substr(0, std::min(text.find('\0'), text.size()));
    return Step::header;
  }
  // pax: "LENGTH KEY=VALUE\n"; LENGTH is the length of the whole line.
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || length <= digits + 2 || length > text.size())
      return fail("has a pax header that is none");
    const std::string_view line = text.substr(digits + 1, length - digits - 2);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return fail("has a pax header that is none");
    const std::string_view value = line.substr(equals + 1);
    if (line.substr(0, equals) == "path") long_name_ = value;
    if (line.substr(0, equals) == "size") {
      const auto size = std::from_chars(value.data(), value.data() + value.size(), pax_size_);
      if (size.ec != std::errc() || pax_size_ > std::uint64_t{1} << 48)
        return fail("has a pax size that is no number");
      has_pax_size_ = true;
    }
    text.remove_prefix(length);
  }
  return Step::header;
}

std::optional<SampleMember> sample_member(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', last);
  if (dot == std::string_view::npos || dot == last || is_meta(name)) return std::nullopt;
  SampleMember out{std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
  for (char& c : out.suffix)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool SampleSuffixes::add(const std::string& suffix) {
  if (suffix == "__key__" || suffix == "__url__" ||
      std::find(known_.begin(), known_.end(), suffix) != known_.end())
    return false;
  known_.push_back(suffix);
  return true;
}

bool list_tar(std::span<const std::byte> piece, std::vector<TarMember>& out) {
  TarParser parser;
  auto step = TarParser::Step::header;
  while (parser.offset() < piece.size()) {
    const std::size_t wanted = step == TarParser::Step::body ? parser.body_bytes() : kTarBlock;
    const std::uint64_t at = parser.offset();
    step = parser.feed(piece.subspan(at, std::min<std::size_t>(wanted, piece.size() - at)));
    if (step == TarParser::Step::bad) return false;
    if (step == TarParser::Step::end) return true;
    if (step != TarParser::Step::member) continue;
    if (parser.member().data_offset + parser.member().bytes > piece.size()) return false;
    out.push_back(parser.member());
  }
  return step != TarParser::Step::body;
}

}  // namespace tributary::pool
