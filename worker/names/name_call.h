// One put or get of a value by its name, and how it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "core/wire/data_name.h"
#include "worker/session/failure.h"

namespace tributary::worker {

// Larger values are refused, so that no answer makes a reader take any amount of memory.
inline constexpr std::uint64_t kMaxValueBytes = std::uint64_t{4} << 30;

struct NameCall {
  enum class Kind : std::uint8_t { put, get };
  Kind kind = Kind::get;
  std::string name;              // says run; without seg=, or of a get with it: that segment alone
  std::vector<std::byte> value;  // of a put; of a get once it is done
  std::uint64_t digest = 0;      // of a put's value: XXH64; 0: the client works it out
  Duration limit = Duration::seconds(10);
  std::optional<Failure> failure;
  bool done = false;  // set by NameCalls, under its lock
};

// The name in full: "grad/v=12" becomes "/job/7/run=RUN/grad/v=12", and a name without run= gets
// `run`. Throws std::invalid_argument: what is wrong with it, and what is allowed.
std::string complete_name(const std::string& text, std::uint32_t job, const std::string& run,
                          NameCall::Kind kind);
// The name of a value: without the segment.
std::string value_name(const wire::DataName& name);

// Why the switches refused it.
Failure name_refused(const NameCall& call, wire::Reason reason);
// No answer came in time; `last`: the last refusal after which it was tried again.
Failure name_unanswered(const NameCall& call, wire::Reason last);
Failure name_failed(const NameCall& call, const std::string& why);

}  // namespace tributary::worker
