#include "pool/store/range_proof.h"

#include <algorithm>
#include <charconv>

namespace tributary::pool {
namespace {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
};

// Takes a number, and the character behind it unless that is 0, from the front.
bool take_number(std::string_view& text, char behind, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (behind == '\0') return true;
  if (!text.starts_with(behind)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  ContentRange out;
  if (!take_number(text, '-', out.first) || !take_number(text, '/', out.last) ||
      !take_number(text, '\0', out.total) || !text.empty())
    return std::nullopt;
  return out;
}

std::string span_text(std::uint64_t offset, std::uint64_t bytes) {
  return "bytes " + std::to_string(offset) + "-" + std::to_string(offset + bytes - 1);
}

std::string given_text(const GivenRange& given) {
  std::string out = "given HTTP " + std::to_string(given.status) + " with ";
  out += given.content_ranges.empty() ? "no Content-Range"
                                      : "Content-Range '" + given.content_ranges + "'";
  if (given.content_length)
    out += " and " + std::to_string(*given.content_length) + " bytes of content";
  return out;
}

// An answer without Content-Range: what else says that it is the range?
bool is_whole_answer(const AskedRange& asked, const GivenRange& given) {
  if (given.status != 200) return false;
  const std::uint64_t wanted = asked.way == RangeWay::header ? asked.object_bytes : asked.bytes;
  if (given.content_length && *given.content_length != wanted) return false;
  if (asked.way == RangeWay::header) return asked.offset == 0 && asked.bytes == wanted;
  return query_number(given.url, "offset") == asked.offset &&
         query_number(given.url, "length") == asked.bytes;
}

}  // namespace

std::optional<RangeProblem> check_range(const AskedRange& asked, const GivenRange& given) {
  const std::string text = "asked for " + span_text(asked.offset, asked.bytes) + " of " +
                           std::to_string(asked.object_bytes) + ", " + given_text(given);
  const bool has_range = !given.content_ranges.empty();
  if ((given.status != 200 && given.status != 206) || (given.status == 206 && !has_range))
    return RangeProblem{StoreFault::refused, text};
  if (!has_range) {
    if (is_whole_answer(asked, given)) return std::nullopt;
    const bool redirected_elsewhere = asked.way == RangeWay::url;
    return RangeProblem{StoreFault::refused,
                        redirected_elsewhere ? text + " from " + given.url : text};
  }
  const auto range = parse_content_range(given.content_ranges);
  if (!range || range->first != asked.offset || range->last != asked.offset + asked.bytes - 1)
    return RangeProblem{StoreFault::refused, text};
  if (range->total != asked.object_bytes)
    return RangeProblem{StoreFault::changed, text + "; make the manifest again"};
  if (given.content_length && *given.content_length != asked.bytes)
    return RangeProblem{StoreFault::refused, text};
  return std::nullopt;
}

std::optional<std::uint64_t> query_number(std::string_view url, std::string_view key) {
  const std::size_t start = url.find('?');
  if (start == std::string_view::npos) return std::nullopt;
  std::string_view query = url.substr(start + 1);
  query = query.substr(0, query.find('#'));
  std::optional<std::uint64_t> out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!pair.starts_with(key) || pair.size() <= key.size() || pair[key.size()] != '=') continue;
    pair.remove_prefix(key.size() + 1);
    std::uint64_t number = 0;
    if (out || !take_number(pair, '\0', number) || !pair.empty()) return std::nullopt;
    out = number;
  }
  return out;
}

}  // namespace tributary::pool
