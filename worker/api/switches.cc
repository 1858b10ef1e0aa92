#include "worker/api/switches.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include "core/digest.h"
#include "core/op_number.h"
#include "worker/agreement/size_vote.h"
#include "worker/agreement/switch_agreement.h"
#include "worker/api/plane_parts.h"
#include "worker/transport/address_list.h"

namespace tributary::worker {
namespace {

// How often a waiting call checks whether it was cancelled.
constexpr Duration kLookPeriod = Duration::ms(50);

[[noreturn]] void throw_cancelled(std::uint32_t job) {
  throw CommunicatorError(wire::Reason::none, {},
                          "job " + std::to_string(job) + ": joining was cancelled");
}

std::unique_ptr<Transport> connect(const CommunicatorOptions& options, const std::string& address) {
  try {
    return make_transport(address, options.job, options.rank,
                          {options.join_timeout, options.cancelled});
  } catch (const ConnectCancelled&) {
    throw_cancelled(options.job);
  }
}

// The join timeout starts here.
std::unique_ptr<Progress> start_progress(const CommunicatorOptions& options,
                                         const std::string& address,
                                         const std::shared_ptr<StageCounters>& stages) {
  const auto began = std::chrono::steady_clock::now();
  SessionOptions s;
  s.job = options.job;
  s.rank = options.rank;
  s.size = options.size;
  take_open(options.open, s);
  auto transport = connect(options, address);
  if (stages) transport = std::make_unique<StagedTransport>(std::move(transport), stages);
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - began;
  s.nonce = random_nonce();
  if (!options.run.empty()) s.run_id = xxh64(std::as_bytes(std::span(options.run))) | 1;
  s.join_timeout = options.join_timeout;
  s.fail_if_taken = options.fail_if_taken;
  s.join_spent = Duration::ns(taken.count());
  s.op_timeout = options.op_timeout;
  s.loss_group = options.loss_group;
  s.at_host = options.at_host;
  s.needs_all_ranks = options.address_bits.choose();
  s.max_datagram_bytes = transport->max_datagram_bytes();
  s.max_cut_bytes = transport->max_cut_bytes();
  s.switch_name = address;
  s.silence_hint = transport->silence_hint();
  std::optional<Progress::RetryOptions> retry;
  if (options.retry == tributary::Retry::ops)
    retry = Progress::RetryOptions{options.retry_timeout, options.retry_bytes};
  return std::make_unique<Progress>(std::move(transport), s, retry);
}

// Another process has this rank, or ranks of another run wait.
void tell(const CommunicatorOptions& options, const std::string& by) {
  const std::string text = "job " + std::to_string(options.job) + ": " + by +
                           "; this process joins when that one has gone, and waits " +
                           std::to_string(options.join_timeout.to_ns() / 1'000'000'000) +
                           " s at most";
  if (options.notice) return options.notice(text);
  std::fprintf(stderr, "tributary: %s\n", text.c_str());
}

void add(CommunicatorStats& all, const CommunicatorStats& one) {
  all.contributions += one.contributions;
  all.contribution_bytes += one.contribution_bytes;
  all.results += one.results;
  all.result_bytes += one.result_bytes;
  all.duplicate_results += one.duplicate_results;
  all.asked_results += one.asked_results;
  all.probes += one.probes;
  all.resends += one.resends;
  all.pending_replies += one.pending_replies;
  all.unknown_replies += one.unknown_replies;
  all.drops += one.drops;
  all.smoothed_rtt_ns = std::max(all.smoothed_rtt_ns, one.smoothed_rtt_ns);
  all.float_retries += one.float_retries;
  all.degraded_results += one.degraded_results;
  all.marked_results += one.marked_results;
  all.reported_marks += one.reported_marks;
  all.window_decreases += one.window_decreases;
  all.retries += one.retries;
  all.least_window = std::min(all.least_window, one.least_window);
}

}  // namespace

std::uint64_t random_nonce() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Switches::Switches(const CommunicatorOptions& options) : options_(options), size_(options.size) {
  const auto addresses = split_addresses(options.address);
  if (options.retry == tributary::Retry::ops && addresses.size() > 1)
    throw std::invalid_argument("retry ops with " + std::to_string(addresses.size()) +
                                " switches in the address: allowed is one; or retry none");
  if (const auto why = layout::why_unusable(options.address_bits, addresses.size()); !why.empty())
    throw std::invalid_argument(why);
  for (const std::string& address : addresses) {
    const auto stages = options.stages ? std::make_shared<StageCounters>() : nullptr;
    if (stages) stages_.push_back(stages);
    all_.push_back(start_progress(options, address, stages));
  }
  if (all_.size() > 1)
    for (const auto& progress : all_) progress->share_ops();
  join();
  if (all_.size() > 1) agree();
}

void Switches::join() {
  bool told = false;
  for (const auto& progress : all_) {
    while (!progress->wait_joined(options_.cancelled ? kLookPeriod : Duration::seconds(3600))) {
      if (const auto by = progress->take_notice(); by && !std::exchange(told, true))
        tell(options_, *by);
      if (options_.cancelled && options_.cancelled()) throw_cancelled(options_.job);
    }
    if (const auto& failure = progress->join_failure())
      throw CommunicatorError(failure->reason, failure->ranks, failure->text);
  }
}

// The first op on each switch: all ranks agree on the order of the list, and on address bits.
void Switches::agree() {
  const auto fail = [&](const std::string& why) {
    throw CommunicatorError(wire::Reason::none, {},
                            "job " + std::to_string(options_.job) + ": " + why);
  };
  for (const auto& progress : all_)
    if (const auto why = why_switches_differ(start_info(), progress->agreed().info); !why.empty())
      fail(why + ", at " + all_.front()->address() + " and " + progress->address() +
           "; switches that share a job need the same");
  const AddressBits& bits = options_.address_bits;
  std::vector<PlaceVote> votes;
  std::vector<State> ops;
  votes.reserve(all_.size());
  for (std::uint32_t place = 0; place < all_.size(); ++place) {
    PlaceVote& vote = votes.emplace_back(vote_for_place(place, options_.rank, bits));
    Op op;
    op.data = reinterpret_cast<std::byte*>(vote.data());
    op.count = vote.size();
    op.dtype = wire::DType::int64;
    op.reduce_op = wire::ReduceOp::max;
    State& state = ops.emplace_back(std::make_shared<Request::State>());
    split_for(*all_[place], op, {}, *state);
    all_[place]->reserve(*state, {});
    all_[place]->submit(state);
  }
  for (const State& op : ops)
    while (!op->done.wait_for(Duration::seconds(3600))) {
    }
  for (std::size_t place = 0; place < all_.size(); ++place) {
    if (ops[place]->failure) fail(all_[place]->address() + ": " + ops[place]->failure->text);
    const auto why = why_places_differ(votes[place], all_[place]->address());
    if (!why.empty()) fail(why);
  }
  next_op_ = 1;
  if (!bits.choose()) return;
  if (const auto why = layout::why_too_small(bits, start_info().chunk_bytes); !why.empty())
    fail(why);
  for (const auto& progress : all_)
    if (progress->agreed().degrades) fail(progress->address() + ": " + kMayLackRanks);
}

void Switches::split_for(Progress& progress, const Op& op, const Travel& travel,
                         Request::State& state) const {
  const Progress::Agreed agreed = progress.agreed();
  const wire::StartInfo& job = agreed.info;
  state.cut_by = agreed.number;
  if (travel.block_scaled && op.data != nullptr)
    split_block_scaled(op, options_.rank, size(), job, travel.exponent, state);
  else
    split(op, options_.rank, size(), job, state);
}

void Switches::start(const State& whole, const Op& op, const CallMemory& memory,
                     const Travel& travel) {
  if (wire::concerns_model(op.collective)) has_models_ = true;
  if (all_.size() > 1) return start_sharded(whole, op, memory, travel);
  Progress& only = *all_.front();
  split_for(only, op, travel, *whole);
  only.reserve(*whole, memory);
  clear_unless_root(op);
  only.submit(whole);
}

// First values come from one rank: a sum with zeros gives that rank's values.
void Switches::clear_unless_root(const Op& op) const {
  if (op.collective == wire::Collective::open && op.root != options_.rank)
    std::memset(op.data, 0, op.count * wire::size_of(op.dtype));
}

std::vector<Switches::Shard> Switches::cut(const Op& op, const Travel& travel) const {
  std::vector<Shard> shards;
  const auto add_shard = [&](std::size_t at, const PlaneRange& range) {
    Op part = op;
    const std::size_t offset = range.begin * wire::size_of(op.dtype);
    if (part.data != nullptr) part.data += offset;
    if (part.output != nullptr) part.output += offset;
    part.count = range.count;
    part.of_count = op.count;
    Shard& shard = shards.emplace_back(Shard{at, std::make_shared<Request::State>()});
    shard.state->first_element = range.begin;
    shard.state->number = next_op_;
    split_for(*all_[at], part, travel, *shard.state);
  };
  if (op.collective == wire::Collective::barrier) {
    for (std::size_t at = 0; at < all_.size(); ++at) add_shard(at, {});
    return shards;
  }
  if (wire::concerns_model(op.collective)) {
    add_shard(0, {0, op.count});
    return shards;
  }
  Op undivided = op;
  if (travel.block_scaled) undivided.dtype = wire::DType::int32;
  undivided.cut(options_.rank, size(), start_info());
  if (options_.address_bits.choose()) return cut_by_address(op, travel, undivided);
  const std::size_t first = first_switch(next_op_, all_.size());
  const auto ranges =
      plane_ranges(op.count, undivided.elements_per_chunk, static_cast<std::uint32_t>(all_.size()));
  for (std::size_t i = 0; i < ranges.size(); ++i) add_shard((first + i) % all_.size(), ranges[i]);
  return shards;
}

std::vector<Switches::Shard> Switches::cut_by_address(const Op& op, const Travel& travel,
                                                      const Op& undivided) const {
  const AddressBits& bits = options_.address_bits;
  // The memory that has all parts of the array on every rank.
  const std::byte* const whole =
      op.collective == wire::Collective::all_gather ? op.output : op.data;
  layout::ChunkedArray array;
  if (op.count > 0 && !travel.is_list) array.address = reinterpret_cast<std::uintptr_t>(whole);
  array.element_bytes = wire::size_of(op.dtype);
  array.count = op.count;
  array.elements_per_chunk = undivided.elements_per_chunk;
  array.parts = op.has_owners() ? size() : 1;
  auto places = layout::chunks_by_switch(array, bits, all_.size());
  std::vector<Shard> shards;
  for (std::size_t at = 0; at < all_.size(); ++at) {
    if (at > 0 && places[at].empty()) continue;
    Request::State& state =
        *shards.emplace_back(Shard{at, std::make_shared<Request::State>()}).state;
    state.places = std::move(places[at]);
    state.number = next_op_;
    Op part = op;
    part.of_count = op.count;
    part.places = layout::ChunkPlaces(state.places);
    part.address = static_cast<std::uint32_t>(array.address % bits.period());
    split_for(*all_[at], part, travel, state);
  }
  return shards;
}

void Switches::start_sharded(const State& whole, const Op& op, const CallMemory& memory,
                             const Travel& travel) {
  const std::lock_guard lock(order_);
  whole->memory = memory_.claim(memory);
  std::vector<Shard> shards = cut(op, travel);
  for (const Shard& shard : shards) all_[shard.at]->reserve(*shard.state, {});
  clear_unless_root(op);
  if (next_op_ != kNoOp) ++next_op_;
  const auto sharded = std::make_shared<ShardedOp>(
      whole, memory_, [this](const Failure& why, const std::string& address) {
        for (const auto& progress : all_)
          if (progress->address() != address) progress->end(why);
      });
  sharded->expect(shards.size());
  for (const Shard& shard : shards) {
    shard.state->sharded = sharded;
    all_[shard.at]->submit(shard.state);
  }
}

void Switches::check_member() const {
  if (options_.rank >= size())
    throw CommunicatorError(
        wire::Reason::none, {},
        "job " + std::to_string(options_.job) +
            ": this rank has left the job by resize; to join it again, create a communicator");
}

// Another number of ranks (docs/protocol/resize.md): the ranks vote on it by an op, and then leave
// the epoch together.
void Switches::check_resize() const {
  check_member();
  if (all_.size() > 1)
    throw std::invalid_argument("resize with " + std::to_string(all_.size()) +
                                " switches in the address: allowed is one");
  if (has_models_)
    throw std::invalid_argument(
        "resize after ops on a model: its server counts the ranks of the "
        "epoch; allowed: before any");
}

void Switches::wait_for_vote(Request::State& vote, Progress& progress) const {
  while (!vote.done.wait_for(kLookPeriod)) {
    if (!options_.cancelled || !options_.cancelled()) continue;
    const std::string text = "job " + std::to_string(options_.job) + ": resize was cancelled";
    progress.end({wire::Reason::none, {}, text, {}});
    progress.decide({});
    while (!vote.done.wait_for(Duration::seconds(3600))) {  // its memory is the caller's
    }
    throw CommunicatorError(wire::Reason::none, {}, text);
  }
}

bool Switches::resize(std::uint32_t wanted) {
  check_resize();
  Progress& progress = *all_.front();
  const Session::Sizes limits = progress.sizes();
  SizeVote vote = vote_for_size(wanted, options_.rank, limits.least, limits.most);
  Op op;
  op.data = reinterpret_cast<std::byte*>(vote.data());
  op.count = vote.size();
  op.dtype = wire::DType::int64;
  op.reduce_op = wire::ReduceOp::max;
  const auto state = std::make_shared<Request::State>();
  split_for(progress, op, {}, *state);
  progress.reserve(*state, {});
  progress.begin_vote(state);
  progress.submit(state);
  wait_for_vote(*state, progress);
  const auto fail = [](const Failure& why) {
    throw CommunicatorError(why.reason, why.ranks, why.text);
  };
  const SizeVerdict verdict = verdict_of(vote, wanted, size(), options_.job);
  const bool changes = !state->failure && verdict.agreed && wanted != size();
  progress.decide(changes ? std::optional(wanted) : std::nullopt);
  if (state->failure) fail(*state->failure);
  if (!verdict.impossible.empty()) throw std::invalid_argument(verdict.impossible);
  if (!verdict.agreed) fail({wire::Reason::none, verdict.ranks, verdict.differ, {}});
  if (!changes) return true;
  while (!progress.wait_resized(kLookPeriod))
    if (options_.cancelled && options_.cancelled())
      progress.end({wire::Reason::none, {}, "resize was cancelled", {}});
  if (const auto& failure = progress.resize_failure()) fail(*failure);
  size_ = wanted;
  return options_.rank < wanted;
}

CommunicatorStats Switches::stats() const {
  CommunicatorStats all = all_.front()->stats();
  for (std::size_t i = 1; i < all_.size(); ++i) add(all, all_[i]->stats());
  if (all_.size() == 1) return all;
  const std::lock_guard lock(order_);
  all.ops = next_op_;
  return all;
}

CommunicatorStages Switches::stages() const {
  CommunicatorStages all;
  for (const auto& one : stages_) {
    all.session_ns += one->session_ns.get();
    all.send_ns += one->send_ns.get();
    all.receive_ns += one->receive_ns.get();
    all.unpack_ns += one->unpack_ns.get();
    all.wait_ns += one->wait_ns.get();
    all.sends += one->sends.get();
    all.datagrams += one->datagrams.get();
    all.receives += one->receives.get();
    all.packets += one->packets.get();
    all.waits += one->waits.get();
  }
  return all;
}

void Switches::abandon() {
  for (auto& progress : all_) {
    progress->abandon();
    [[maybe_unused]] auto* leaked = progress.release();
  }
  all_.clear();
}

}  // namespace tributary::worker
