#include "worker/names/name_call.h"

#include <array>
#include <cstdio>
#include <stdexcept>

namespace tributary::worker {
namespace {

using wire::Reason;

const char* text_of_refusal(Reason reason) {
  switch (reason) {
    case Reason::names_off:
      return "the switch has no named data for this job: set `names` of the job and "
             "`switch.names.megabytes`";
    case Reason::bad_name: return "the switch takes the name, or its digest, for damaged";
    case Reason::foreign_name: return "the name is another job's";
    case Reason::not_allowed:
      return "not allowed: values are given by members of the job, under worker=R by rank R alone, "
             "and read by members and hosts in the job's `names.readers`";
    case Reason::name_taken: return "other bytes have this name, and names never change";
    case Reason::name_unknown:
      return "no value has this name, or the producer and every cache have lost it";
    case Reason::names_full:
      return "the job's share of the table of names is used up (`switch.names.entries`)";
    case Reason::names_busy: return "too many requests wait at the switch (`switch.names.pending`)";
    case Reason::value_too_large: return "a segment is larger than the switch takes";
    default: return "refused";
  }
}

std::string subject(const NameCall& call) {
  return (call.kind == NameCall::Kind::put ? "put of " : "get of ") + call.name + ": ";
}

std::string quoted_name(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= ' ' && c != '\x7F';
    shown += plain ? c : '?';
  }
  return "name '" + shown + "' ";
}

}  // namespace

std::string value_name(const wire::DataName& name) {
  wire::DataName whole = name;
  whole.segment.reset();
  wire::NameBuffer room;
  return std::string(wire::write_name(whole, room));
}

std::string complete_name(const std::string& text, std::uint32_t job, const std::string& run,
                          NameCall::Kind kind) {
  const std::string shown = quoted_name(text);
  const bool full = text.starts_with('/');
  const std::string whole = full ? text : "/job/" + std::to_string(job) + "/" + text;
  wire::DataName name;
  if (const char* const wrong = wire::parse_name(whole, name))
    throw std::invalid_argument(shown + wrong +
                                "; allowed: TENSOR/v=VERSION[/worker=RANK], or "
                                "/job/JOB[/run=RUN]/ before it, 160 bytes in all");
  if (name.job != job)
    throw std::invalid_argument(shown + "is of job " + std::to_string(name.job) +
                                "; allowed: names of job " + std::to_string(job));
  if (name.segment && kind == NameCall::Kind::put)
    throw std::invalid_argument(shown +
                                "names a segment; allowed: a whole value, which the "
                                "library cuts into segments");
  if (name.run.empty()) name.run = run;
  wire::DataName longest = name;
  longest.segment = wire::kMaxSegments - 1;
  wire::NameBuffer room;
  if (wire::write_name(longest, room).empty())
    throw std::invalid_argument(shown + "is too long; allowed: 160 bytes with run and seg");
  return std::string(wire::write_name(name, room));
}

Failure name_refused(const NameCall& call, Reason reason) {
  return {
      reason, {}, subject(call) + text_of_refusal(reason) + " (" + wire::name_of(reason) + ")", {}};
}

Failure name_failed(const NameCall& call, const std::string& why) {
  return {Reason::none, {}, subject(call) + why, {}};
}

Failure name_unanswered(const NameCall& call, Reason last) {
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%g s", call.limit.to_seconds());
  std::string why = std::string("no answer within ") + seconds.data();
  why += last == Reason::none ? "; the switch, or where the value was put, is silent"
                              : std::string("; the last one was: ") + text_of_refusal(last);
  return {last, {}, subject(call) + why, {}};
}

}  // namespace tributary::worker
