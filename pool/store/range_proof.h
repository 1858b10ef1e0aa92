// Proves that an HTTP answer is the range that was asked for, by what its head says of itself.
//
//   206   Content-Range must be "bytes FIRST-LAST/TOTAL" of the asked range, TOTAL the object's
//   size 200   counts where the asked range is the whole object, or where the server has no ranges
//   and
//         the URL itself names the bytes (WebHDFS); a Content-Range must fit nevertheless
//
// A 200 with a larger object than the range is refused, not cut: each record would cost the whole
// shard. Every other status is an error. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pool/store/store.h"

namespace tributary::pool {

enum class RangeWay : std::uint8_t {
  header,  // by a Range header
  url,     // by `offset` and `length` in the URL's query
};

struct AskedRange {
  RangeWay way = RangeWay::header;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t object_bytes = 0;
};

// An answer's head. `content_ranges`: the values of all such headers, joined by ", ".
struct GivenRange {
  long status = 0;
  std::string content_ranges;
  std::optional<std::uint64_t> content_length;
  std::string url;  // after redirects
};

struct RangeProblem {
  StoreFault fault;
  std::string text;  // "asked for bytes 0-3 of 10, given ..."
};

// nullopt: the body is the range, if it has its length.
std::optional<RangeProblem> check_range(const AskedRange& asked, const GivenRange& given);

// The number that the query of a URL has under `key`; nullopt unless there is exactly one.
std::optional<std::uint64_t> query_number(std::string_view url, std::string_view key);

}  // namespace tributary::pool
