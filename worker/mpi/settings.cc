#include "worker/mpi/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace tributary::mpi {
namespace {

constexpr std::array<const char*, 8> kVariables = {
    "TRIBUTARY_JOBS",           "TRIBUTARY_JOB",
    "TRIBUTARY_MPI_TIMEOUT",    "TRIBUTARY_MPI_JOIN_TIMEOUT",
    "TRIBUTARY_MPI_LOG",        "TRIBUTARY_MPI_THRESHOLD",
    "TRIBUTARY_MPI_BIND_WORLD", "TRIBUTARY_MPI_COUNTS"};
constexpr std::uint32_t kMostJobs = 65536;
constexpr double kDefaultTimeoutSeconds = 3600;
constexpr double kDefaultJoinTimeoutSeconds = 30;

[[noreturn]] void refuse(std::string_view name, std::string_view value, const char* allowed) {
  throw std::invalid_argument(std::string(name) + "=" + std::string(value) + ": allowed is " +
                              allowed);
}

template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// Calls `each` with each text between commas.
template <typename Each>
void split(std::string_view text, Each each) {
  while (true) {
    const std::size_t comma = text.find(',');
    each(text.substr(0, comma));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::uint32_t> parse_jobs(std::string_view name, std::string_view text) {
  constexpr const char* kAllowed = "a list of job numbers and ranges of them, such as 1,4-7";
  std::vector<std::uint32_t> jobs;
  split(text, [&](std::string_view item) {
    const std::size_t dash = item.find('-');
    const auto first = number<std::uint32_t>(item.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number<std::uint32_t>(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostJobs)
      refuse(name, text, kAllowed);
    for (std::uint32_t job = *first;; ++job) {
      if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
      if (job == *last) break;
    }
  });
  return jobs;
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
  if (text == "off") return kNever;
  std::size_t unit = 1;
  if (!text.empty() && std::string_view("KMG").find(text.back()) != std::string_view::npos) {
    unit = std::size_t{1} << (10 * (std::string_view("KMG").find(text.back()) + 1));
    text.remove_suffix(1);
  }
  const auto value = number<std::size_t>(text);
  if (!value || *value > (kNever - 1) / unit) return std::nullopt;
  return *value * unit;
}

std::optional<Kind> parse_kind(std::string_view text) {
  for (std::size_t k = 0; k < kKinds; ++k)
    if (text == name_of(static_cast<Kind>(k))) return static_cast<Kind>(k);
  return std::nullopt;
}

// A size without a collective applies to all but barriers, which have no bytes.
void parse_threshold(std::string_view name, std::string_view text, Settings& s) {
  constexpr const char* kAllowed =
      "a size such as 65536, 256K or 1M, or off; or a list by collective, such as "
      "allreduce=1M,reduce=off,bcast=4M,allgather=1M,reduce_scatter=1M,barrier=0";
  split(text, [&](std::string_view item) {
    const std::size_t equals = item.find('=');
    const auto bytes =
        parse_bytes(equals == std::string_view::npos ? item : item.substr(equals + 1));
    if (!bytes) refuse(name, text, kAllowed);
    if (equals == std::string_view::npos) {
      for (std::size_t k = 0; k < kKinds; ++k)
        if (static_cast<Kind>(k) != Kind::barrier) s.threshold[k] = *bytes;
      return;
    }
    const auto kind = parse_kind(item.substr(0, equals));
    if (!kind) refuse(name, text, kAllowed);
    s.threshold[static_cast<std::size_t>(*kind)] = *bytes;
  });
}

Duration parse_seconds(std::string_view name, std::string_view text) {
  const auto value = number<double>(text);
  if (!value || !(*value > 0) || *value > 1e6)
    refuse(name, text, "a number of seconds above 0, up to 1000000");
  return Duration::ns(std::llround(*value * 1e9));
}

bool parse_switch(std::string_view name, std::string_view text) {
  if (text != "0" && text != "1") refuse(name, text, "0 or 1");
  return text == "1";
}

void take(std::string_view name, std::string_view value, Settings& s) {
  if (name == "TRIBUTARY_JOBS" || name == "TRIBUTARY_JOB") {
    // The list comes first, and takes precedence.
    if (s.jobs.empty()) s.jobs = parse_jobs(name, value);
  } else if (name == "TRIBUTARY_MPI_THRESHOLD") {
    parse_threshold(name, value, s);
  } else if (name == "TRIBUTARY_MPI_TIMEOUT") {
    s.op_timeout = parse_seconds(name, value);
  } else if (name == "TRIBUTARY_MPI_JOIN_TIMEOUT") {
    s.join_timeout = parse_seconds(name, value);
  } else if (name == "TRIBUTARY_MPI_BIND_WORLD") {
    s.bind_world = parse_switch(name, value);
  } else if (name == "TRIBUTARY_MPI_LOG") {
    s.log = parse_switch(name, value);
  } else if (name == "TRIBUTARY_MPI_COUNTS") {
    s.counts = parse_switch(name, value);
  }
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::allreduce: return "allreduce";
    case Kind::reduce: return "reduce";
    case Kind::bcast: return "bcast";
    case Kind::allgather: return "allgather";
    case Kind::reduce_scatter: return "reduce_scatter";
    case Kind::barrier: return "barrier";
  }
  return "?";
}

std::size_t default_threshold(Kind kind) {
  switch (kind) {
    case Kind::allreduce: return std::size_t{64} << 10;
    case Kind::reduce:
    case Kind::reduce_scatter: return std::size_t{1} << 20;
    case Kind::bcast:
    case Kind::allgather:
    case Kind::barrier: break;
  }
  return kNever;
}

std::string collect(Getter get) {
  std::string lines;
  for (const char* name : kVariables) {
    const char* const value = get(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text(value);
    std::replace(text.begin(), text.end(), '\n', ' ');
    lines += std::string(name) + "=" + text + "\n";
  }
  return lines;
}

Settings parse_settings(std::string_view collected) {
  Settings s;
  for (std::size_t k = 0; k < kKinds; ++k) s.threshold[k] = default_threshold(static_cast<Kind>(k));
  s.op_timeout = Duration::ns(std::llround(kDefaultTimeoutSeconds * 1e9));
  s.join_timeout = Duration::ns(std::llround(kDefaultJoinTimeoutSeconds * 1e9));
  while (!collected.empty()) {
    const std::size_t end = collected.find('\n');
    const std::string_view line = collected.substr(0, end);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) take(line.substr(0, equals), line.substr(equals + 1), s);
    if (end == std::string_view::npos) break;
    collected.remove_prefix(end + 1);
  }
  return s;
}

std::string expand_address(std::string_view pattern, std::uint32_t rank, std::uint32_t job) {
  std::string address(pattern);
  for (const auto& [name, value] : {std::pair<std::string_view, std::uint32_t>{"{rank}", rank},
                                    std::pair<std::string_view, std::uint32_t>{"{job}", job}})
    for (std::size_t at; (at = address.find(name)) != std::string::npos;)
      address.replace(at, name.size(), std::to_string(value));
  return address;
}

}  // namespace tributary::mpi
