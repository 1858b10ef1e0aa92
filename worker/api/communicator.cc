// The public face of a Progress: checks arguments, turns failures into exceptions.
#include "worker/api/communicator.h"

#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>

#include "worker/api/array_list.h"
#include "worker/api/call_memory.h"
#include "worker/api/collective_call.h"
#include "worker/api/completion_host.h"
#include "worker/api/environment.h"
#include "worker/api/outcome.h"
#include "worker/api/plane_parts.h"
#include "worker/api/progress.h"

namespace tributary {
namespace {

// How often create() asks whether it was cancelled.
constexpr Duration kCancelPeriod = Duration::ms(50);

std::uint64_t random_nonce() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

[[noreturn]] void throw_failure(const worker::Failure& f) {
  throw CommunicatorError(f.reason, f.ranks, f.text);
}

std::unique_ptr<worker::CompletionHost> start_host(const CommunicatorOptions& options) {
  if (options.host_config.empty()) return nullptr;
  return std::make_unique<worker::CompletionHost>(
      worker::load_host_config(options.host_config, options.host_node), random_nonce());
}

[[noreturn]] void throw_cancelled(std::uint32_t job) {
  throw CommunicatorError(wire::Reason::none, {},
                          "job " + std::to_string(job) + ": joining was cancelled");
}

std::unique_ptr<worker::Transport> connect(const CommunicatorOptions& options) {
  try {
    return worker::make_transport(options.address, options.job, options.rank,
                                  {options.join_timeout, options.cancelled});
  } catch (const worker::ConnectCancelled&) {
    throw_cancelled(options.job);
  }
}

// The time to join counts from here.
std::unique_ptr<worker::Progress> start_progress(const CommunicatorOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  auto transport = connect(options);
  const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - began;
  worker::SessionOptions s;
  s.job = options.job;
  s.rank = options.rank;
  s.size = options.size;
  s.nonce = random_nonce();
  s.join_timeout = options.join_timeout;
  s.join_spent = Duration::ns(taken.count());
  s.op_timeout = options.op_timeout;
  s.loss_group = options.loss_group;
  s.at_host = options.at_host;
  s.max_datagram_bytes = transport->max_datagram_bytes();
  s.max_cut_bytes = transport->max_cut_bytes();
  s.switch_name = options.address;
  s.silence_hint = transport->silence_hint();
  return std::make_unique<worker::Progress>(std::move(transport), s);
}

class CommunicatorImpl final : public Communicator {
 public:
  explicit CommunicatorImpl(const CommunicatorOptions& options)
      : options_(options), host_(start_host(options)), progress_(start_progress(options)) {
    while (!progress_->wait_joined(options.cancelled ? kCancelPeriod : Duration::seconds(3600))) {
      if (options.cancelled && options.cancelled()) throw_cancelled(options.job);
    }
    if (progress_->join_failure()) throw_failure(*progress_->join_failure());
  }

  ~CommunicatorImpl() override {
    if (::getpid() == owner_) return;
    progress_->abandon();
    [[maybe_unused]] auto* leaked = progress_.release();
    if (host_ == nullptr) return;
    host_->abandon();
    [[maybe_unused]] auto* leaked_host = host_.release();
  }

  Request start(const CollectiveCall& call) override {
    check(call);
    if (call.collective == wire::Collective::barrier) return submit(call, {}, {});
    return submit(call, worker::CallMemory(call, options_.rank, options_.size), {});
  }

  Request start(const CollectiveCall& call, std::span<const ArrayPart> arrays) override {
    const worker::ListAccess access = worker::list_access(call, options_.rank);
    worker::ArrayList list(arrays, wire::size_of(call.dtype));
    CollectiveCall whole = call;
    whole.data = list.front();
    whole.count = list.count();
    check(whole);
    const worker::CallMemory memory(call, arrays, access.written);
    whole.data = list.pack(access);
    return submit(whole, memory, std::move(list));
  }

  [[nodiscard]] std::uint32_t rank() const override { return options_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return options_.size; }
  [[nodiscard]] std::uint16_t epoch() const override { return progress_->epoch(); }
  [[nodiscard]] CommunicatorStats stats() const override { return progress_->stats(); }
  [[nodiscard]] bool modular() const override {
    return static_cast<wire::Arithmetic>(progress_->start_info().arithmetic) ==
           wire::Arithmetic::modular;
  }

 private:
  void check(const CollectiveCall& call) const {
    const wire::StartInfo& job = progress_->start_info();
    worker::check_call(call, options_.size, static_cast<wire::Partials>(job.partials),
                       static_cast<wire::Arithmetic>(job.arithmetic));
  }

  // check() has accepted it.
  static worker::Op op_of(const CollectiveCall& call) {
    worker::Op op;
    op.collective = call.collective;
    if (call.collective == wire::Collective::barrier) return op;
    op.data = static_cast<std::byte*>(call.data);
    op.output = static_cast<std::byte*>(call.output);
    op.count = call.count;
    op.dtype = call.dtype;
    op.reduce_op = call.op;
    op.root = call.root;
    op.array = static_cast<std::uint16_t>(call.array);
    return op;
  }

  Request submit(const CollectiveCall& call, const worker::CallMemory& memory,
                 worker::ArrayList list) {
    if (::getpid() != owner_)
      throw std::logic_error("this communicator belongs to process " + std::to_string(owner_) +
                             "; a forked process must create its own");
    const wire::StartInfo& job = progress_->start_info();
    auto state = std::make_shared<Request::State>();
    state->ranks = options_.size;
    state->list = std::move(list);
    worker::Op op = op_of(call);
    state->result_elements = worker::elements_got(call, options_.rank, options_.size);
    if (memory.needs_staging()) stage(op, *state);
    if (op.data != nullptr && call.encoding == wire::Encoding::block_scaled)
      worker::split_block_scaled(op, options_.rank, options_.size, job, call.scale_exponent,
                                 *state);
    else
      worker::split(op, options_.rank, options_.size, job, *state);
    if (!progress_->reserve(*state, memory, options_.cancelled))
      throw CommunicatorError(wire::Reason::none, {},
                              "job " + std::to_string(options_.job) + ": the call was cancelled");
    // First values are one rank's: a sum with zeros is that rank's numbers.
    if (call.collective == wire::Collective::open && call.root != options_.rank)
      std::memset(call.data, 0, call.count * wire::size_of(call.dtype));
    progress_->submit(state);
    return Request(std::move(state));
  }

  // The result goes to memory of its own first.
  static void stage(worker::Op& op, Request::State& state) {
    state.output = op.output;
    state.output_bytes = op.count * wire::size_of(op.dtype);
    state.staged = std::make_unique_for_overwrite<std::byte[]>(state.output_bytes);
    op.output = state.staged.get();
  }

  const CommunicatorOptions options_;
  const pid_t owner_ = ::getpid();
  std::unique_ptr<worker::CompletionHost> host_;  // outlives the session: others may need it
  std::unique_ptr<worker::Progress> progress_;
};

}  // namespace

void Request::wait() {
  while (!wait_for(Duration::seconds(3600))) {
  }
}

bool Request::wait_for(Duration limit) {
  if (!state_) return true;
  if (!state_->done.wait_for(limit)) return false;
  if (state_->failure) throw_failure(*state_->failure);
  return true;
}

Outcome Request::outcome() {
  wait();
  Outcome outcome;
  if (!state_) return outcome;
  const auto& left_out = state_->left_out;
  for (std::uint32_t rank = 0; rank < state_->ranks && !left_out.empty(); ++rank)
    if ((left_out[rank / 64] >> (rank % 64) & 1) != 0) outcome.missing.push_back(rank);
  outcome.counted = state_->ranks - static_cast<std::uint32_t>(outcome.missing.size());
  outcome.parts = worker::cover(state_->lacking, state_->result_elements, state_->ranks);
  return outcome;
}

bool Request::done() const {
  return !state_ || state_->done.is_set();
}

std::unique_ptr<Communicator> Communicator::create(const CommunicatorOptions& given) {
  const CommunicatorOptions options = worker::with_environment(given, std::getenv);
  if (options.size == 0 || options.rank >= options.size)
    throw std::invalid_argument("rank " + std::to_string(options.rank) + " of size " +
                                std::to_string(options.size) +
                                ": size is at least 1, ranks are 0 to size - 1");
  if (options.host_config.empty() && !options.host_node.empty())
    throw std::invalid_argument("host_node " + options.host_node +
                                ": says nothing without host_config");
  const std::uint32_t group = options.loss_group;
  if (group != 0 && (!std::has_single_bit(group) || group > kMaxLossGroup))
    throw std::invalid_argument(
        "loss_group " + std::to_string(group) +
        ": allowed are 0 (a timer for each chunk) and powers of two up to " +
        std::to_string(kMaxLossGroup));
  return std::make_unique<CommunicatorImpl>(options);
}

}  // namespace tributary
