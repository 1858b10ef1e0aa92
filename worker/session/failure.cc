#include "worker/session/failure.h"

#include <array>
#include <cstdio>

#include "core/op_number.h"
#include "worker/layout/stated_total.h"

namespace tributary::worker {
namespace {

using wire::Reason;

std::string job_text(std::uint32_t job) {
  return "job " + std::to_string(job);
}
// `id` is 0 if the switch has none, or if no particular switch is meant.
std::string the_switch(std::uint32_t id) {
  return id == 0 ? "the switch" : "switch " + std::to_string(id);
}
std::string the_rank(std::uint32_t rank) {
  return rank == wire::kUnknownRank ? "a rank on another switch" : "rank " + std::to_string(rank);
}
std::string chunk_text(const wire::Header& h) {
  return job_text(h.job) + " op " + std::to_string(h.op) + " chunk " + std::to_string(h.chunk);
}

std::string seconds(Duration d) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g s", d.to_seconds());
  return text.data();
}

std::vector<std::uint32_t> missing_in(const wire::Packet& packet) {
  std::vector<std::uint32_t> ids(254);
  const std::size_t listed = wire::find_missing_ids(packet.extensions, ids);
  ids.resize(std::min(listed, ids.size()));
  return ids;
}

// As much of the memory's address as ranks state.
std::string address_text(const layout::StatedTotal& total) {
  if (!total.address) return {};
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), " in memory whose address ends in 0x%x", *total.address);
  return text.data();
}

Failure mismatch(const wire::Packet& abort) {
  Failure f{Reason::op_mismatch, {}, {}, abort.header.op};
  const std::string where = job_text(abort.header.job) + " op " + std::to_string(abort.header.op);
  const auto error = wire::find_op_error(abort.extensions);
  if (!error) {
    f.text = where + ": workers disagree on count, type or operation";
    return f;
  }
  for (const std::uint32_t rank : {error->got.rank, error->expected.rank})
    if (rank != wire::kUnknownRank) f.ranks.push_back(rank);
  std::string got = describe(error->got);
  std::string expected = describe(error->expected);
  const auto got_total = layout::total_of(error->got.total_elements);
  const auto expected_total = layout::total_of(error->expected.total_elements);
  const bool other_address = got_total.address != expected_total.address;
  if (other_address) {
    got += address_text(got_total);
    expected += address_text(expected_total);
  }
  if (got == expected) {
    // The shapes are equal: the ranks are at different ops, or this chunk ends one of them.
    got += error->got.last ? " ending here" : " of another op";
    expected += error->expected.last ? " ending here" : "";
  }
  f.text = where + ": " + the_rank(error->got.rank) + " sent " + got + ", " +
           the_rank(error->expected.rank) + " sent " + expected;
  if (other_address)
    f.text +=
        "; address bits need memory at the same low bits on all ranks, as allocate() gives it";
  return f;
}

// "1 plane", "2 planes"
std::string planes_text(std::uint32_t further) {
  const std::uint64_t planes = std::uint64_t{further} + 1;
  return std::to_string(planes) + (planes == 1 ? " plane" : " planes");
}

std::string address_text(std::uint32_t ipv4, std::uint32_t udp_port) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += std::to_string(ipv4 >> shift & 0xFF) + (shift > 0 ? "." : "");
  return text + " UDP port " + std::to_string(udp_port);
}

// The job is there, for ranks that say something else about it (core/wire/open_job.h).
std::string other_task_text(const wire::Header& nack, const SessionOptions& own) {
  const auto low = [](std::uint32_t number) { return static_cast<std::uint16_t>(number); };
  const wire::OpenJob is{low(nack.origin >> 16), low(nack.origin), low(nack.op), low(nack.chunk)};
  std::string text = the_switch(nack.slot) + " has opened it with " + wire::text_of(is);
  if (own.open) text += "; this rank says " + wire::text_of(*own.open);
  return text;
}

std::string open_refused_text(const wire::Header& nack) {
  const std::string here = the_switch(nack.slot);
  const auto figures = [&](const std::string& what) {
    return "with it, " + here + " would need " + std::to_string(nack.op) + " " + what +
           "; there are " + std::to_string(nack.chunk) + " (switch.open_jobs)";
  };
  switch (static_cast<wire::OpenLimit>(nack.origin)) {
    case wire::OpenLimit::jobs: return figures("jobs that ranks open");
    case wire::OpenLimit::slots: return figures("slots for jobs that ranks open");
    case wire::OpenLimit::kibibytes: return figures("KiB of memory for jobs that ranks open");
    case wire::OpenLimit::nodes:
      return "it has " + std::to_string(nack.op) + " nodes, and " + here + " can sum with " +
             std::to_string(nack.chunk) + ": a topology says which switches are joined";
    default: return here + " has no room for it; its log (`tributary show events`) says what lacks";
  }
}

std::string refusal_text(const wire::Header& nack, std::uint32_t rank) {
  switch (nack.reason) {
    case Reason::unknown_job: return "the switch has no such job";
    case Reason::not_joined: return "the switch does not know this member; it was restarted?";
    case Reason::stale_epoch:
      return "the switch runs another epoch: it was restarted, or the job was started anew";
    case Reason::bad_rank: return "the rank is outside the job, or not allowed on this port";
    case Reason::sender_mismatch:
      if (nack.slot != 0) return already_here(rank, nack);
      return "the rank is bound to another port or address, whose lease has not lapsed";
    case Reason::job_size_mismatch: return "the switch has another worker count for this job";
    case Reason::aborted: return "the epoch was aborted";
    case Reason::rank_restarted:
      return "another rank has been started anew, so the epoch that went before cannot go on";
    case Reason::rank_left: return "another rank has left the job";
    case Reason::settings_mismatch:
      return "it and the switch above have different settings of this job";
    case Reason::configuration_changed:
      return "it and a switch above have read different trees of this job; is one to be reloaded?";
    case Reason::other_run:
      return waits_for_other_run(nack) +
             "; allowed: one run of a program at a time, with one name on all its ranks "
             "(TRIBUTARY_RUN)";
    case Reason::planes_mismatch:
      return the_switch(nack.origin) + " cuts this job into " + planes_text(nack.op) + ", " +
             the_switch(nack.slot) + " above it into " + planes_text(nack.chunk) +
             "; allowed: one number (jobs[].planes) in a tree; is one to be reloaded?";
    default: return "refused";
  }
}

}  // namespace

std::string waits_for_other_run(const wire::Header& nack) {
  return the_rank(nack.origin) + " waits at " + address_text(nack.slot, nack.op) +
         " for ranks of another run";
}

std::string already_here(std::uint32_t rank, const wire::Header& nack) {
  return the_rank(rank) + " is already here, from " + address_text(nack.slot, nack.op);
}

std::string rank_list(std::span<const std::uint32_t> ranks) {
  constexpr std::size_t kMost = 16;
  if (ranks.empty()) return "unnamed ranks";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t shown = std::min(ranks.size(), kMost);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (shown < ranks.size()) text += " and " + std::to_string(ranks.size() - shown) + " more";
  return text;
}

namespace {

// The rank that alone sends or receives, if the call names one.
std::string target_text(const wire::OpDescription& d) {
  if (d.target == wire::OpDescription::kNoTarget) return {};
  const std::string target = std::to_string(d.target);
  switch (d.collective) {
    case wire::Collective::broadcast: return " from rank " + target;
    case wire::Collective::reduce: return " to rank " + target;
    case wire::Collective::open:
    case wire::Collective::update:
      return d.target == wire::kModelStep ? " of the model's step" : " of array " + target;
    default: return {};
  }
}

}  // namespace

std::string describe(const wire::OpDescription& d) {
  if (d.collective == wire::Collective::barrier) return "a barrier";
  std::string text = d.total_elements != 0
                         ? std::to_string(layout::total_of(d.total_elements).elements)
                         : "a chunk of " + std::to_string(d.element_count);
  text += std::string(" ") + wire::name_of(d.dtype);
  if (d.reduce_op != wire::ReduceOp::sum) text += std::string(" (") + name_of(d.reduce_op) + ")";
  if (d.collective != wire::Collective::allreduce)
    text += std::string(" for ") + wire::name_of(d.collective);
  if (d.encoding == wire::Encoding::block_scaled)
    text += ", block-scaled by 2^" + std::to_string(d.scale_exponent);
  return text + target_text(d);
}

Failure aborted(const wire::Packet& abort) {
  const wire::Header& h = abort.header;
  if (h.reason == Reason::op_mismatch) return mismatch(abort);
  Failure f{h.reason, missing_in(abort), {}, {}};
  const std::string ranks = rank_list(f.ranks);
  // In a tree, the switch that the ranks are attached to.
  const std::string behind = h.slot == 0 ? "" : " (behind " + the_switch(h.slot) + ")";
  switch (h.reason) {
    case Reason::deadline:
      f.op = h.op;
      f.text = chunk_text(h) + ": the switch's deadline passed without " + ranks;
      break;
    case Reason::lease_expired:
      f.text = job_text(h.job) + ": " + ranks + behind + " fell silent and the lease expired";
      break;
    case Reason::rank_left:
      f.text = job_text(h.job) + ": " + ranks + " left while an op was open";
      break;
    case Reason::rank_restarted:
      f.text = job_text(h.job) + ": " + ranks + behind + " restarted and joined anew";
      break;
    case Reason::shutdown:
      f.text = job_text(h.job) + ": " + the_switch(h.slot) + " is shutting down";
      break;
    case Reason::parent_lost:
      f.text = job_text(h.job) + ": " + the_switch(h.slot) +
               " above this one fell silent or was restarted";
      break;
    case Reason::host_lost:
      f.text = job_text(h.job) + ": none of the job's completion hosts answers the switch";
      break;
    case Reason::model_lost:
      f.op = h.op;
      f.text = chunk_text(h) +
               ": the job's completion host has no model that this continues: it was restarted, or "
               "another one took over, or the model has not been opened; join again and open it";
      break;
    case Reason::model_mismatch:
      f.op = h.op;
      f.text = chunk_text(h) +
               ": the parameter server's model has other arrays (optimizer.parameters), or has not "
               "had the rest of its step";
      break;
    case Reason::configuration_changed:
      f.text = job_text(h.job) + ": the configuration of " + the_switch(h.slot) +
               " changed; the job can be joined again";
      if (!f.ranks.empty())
        f.text += "; " + ranks +
                  " had not finished the ops that had begun, or cannot go on in another epoch";
      break;
    case Reason::broken_invariant:
      f.text = job_text(h.job) +
               ": the switch, or a completion host, has found a defect of its own and ended the "
               "epoch, as its sums "
               "may be wrong; its log says which; the job can be joined again";
      break;
    case Reason::settings_mismatch:
      f.text = job_text(h.job) + ": " + the_switch(h.slot) +
               " and the one above it have different settings of this job";
      break;
    default:
      f.text = job_text(h.job) + ": the switch aborted the epoch (" + name_of(h.reason) + ")";
      if (!f.ranks.empty()) f.text += ", " + ranks;
  }
  return f;
}

Failure refused(const wire::Packet& nack, const SessionOptions& own) {
  const wire::Header& h = nack.header;
  std::string why;
  switch (h.reason) {
    case Reason::open_refused: why = open_refused_text(h); break;
    case Reason::other_task: why = other_task_text(h, own); break;
    default: why = refusal_text(h, own.rank);
  }
  return {h.reason,
          {},
          job_text(h.job) + ": the switch refused rank " + std::to_string(own.rank) + " of " +
              std::to_string(own.size) + " (" + name_of(h.reason) + "): " + why,
          {}};
}

Failure bad_start(std::uint32_t job, const std::string& why) {
  return {Reason::none, {}, job_text(job) + ": cannot start: " + why, {}};
}

Failure overflowed(const wire::Header& h) {
  return {Reason::overflow,
          {},
          chunk_text(h) + ": the " + name_of(h.reduce_op) + " of " + name_of(h.dtype) +
              " left the range of the type",
          h.op};
}

namespace {

// Small packets come through, and no large one has.
std::string size_text(std::size_t packet_bytes) {
  constexpr std::size_t kAlwaysFits = 576;
  if (packet_bytes <= kAlwaysFits) return {};
  return "; no packet of this size, " + std::to_string(packet_bytes) +
         " bytes, has come from it: if an interface on the way has a smaller MTU, raise it "
         "(`tributary doctor`; on the switch, `tributary show drops` counts mtu-exceeded)";
}

}  // namespace

Failure timed_out(const OpTimeout& t) {
  Failure f{Reason::none, {t.missing.begin(), t.missing.end()}, {}, t.op};
  f.text = job_text(t.job) + " op " + std::to_string(t.op) + " chunk " + std::to_string(t.chunk) +
           ": timed out: no result within the timeout of " + seconds(t.limit) + ": ";
  if (!t.silent_for || *t.silent_for >= t.limit)
    f.text += "the switch did not answer at " + t.switch_name;
  else if (!t.missing.empty())
    f.text += "waiting for " + rank_list(t.missing);
  else
    f.text += "the switch at " + t.switch_name + " was last heard " + seconds(*t.silent_for) +
              " ago and named no cause" + size_text(t.packet_bytes);
  return f;
}

Failure join_timed_out(const JoinTimeout& t) {
  Failure f{t.last_refusal.reason, {t.missing.begin(), t.missing.end()}, {}, {}};
  f.text =
      job_text(t.job) + ": timed out: not joined within the timeout of " + seconds(t.limit) + ": ";
  if (t.waits_for_job && t.last_refusal.reason == Reason::unknown_job)
    f.text += "the switch at " + t.switch_name +
              " has no such job, and no rank has brought it, or not all nodes have";
  else if (t.last_refusal.reason != Reason::none)
    f.text += refusal_text(t.last_refusal, t.rank);
  else if (!t.answered)
    f.text += "the switch did not answer at " + t.switch_name;
  else
    f.text += "waiting for " + rank_list(t.missing);
  return f;
}

Failure fell_silent(std::uint32_t job, Duration limit, const std::string& switch_name) {
  return {
      wire::Reason::parent_lost,
      {},
      job_text(job) + ": the switch at " + switch_name + " did not answer for " + seconds(limit),
      {}};
}

Failure out_of_numbers(std::uint32_t job) {
  return {wire::Reason::none,
          {},
          job_text(job) + ": the epoch has had all " + std::to_string(kNoOp) +
              " ops that there are numbers for; close the communicator on every rank and create it "
              "again",
          {}};
}

Failure not_done(std::uint32_t job, std::uint32_t op, const Failure& cause) {
  return {cause.reason, cause.ranks,
          job_text(job) + " op " + std::to_string(op) + " was not done: " + cause.text, op};
}

}  // namespace tributary::worker
