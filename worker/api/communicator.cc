// The public interface of Switches: checks arguments, turns failures into exceptions.
#include "worker/api/communicator.h"

#include <unistd.h>

#include <bit>
#include <cstdlib>

#include "worker/agreement/agreed_memory.h"
#include "worker/api/array_list.h"
#include "worker/api/call_memory.h"
#include "worker/api/collective_call.h"
#include "worker/api/environment.h"
#include "worker/api/outcome.h"
#include "worker/api/switches.h"
#include "worker/host/completion_host.h"
#include "worker/manager/manager_library.h"

namespace tributary {
namespace {

constexpr Duration kCancelPeriod = Duration::ms(50);

[[noreturn]] void throw_failure(const worker::Failure& f) {
  throw CommunicatorError(f.reason, f.ranks, f.text);
}

std::unique_ptr<worker::CompletionHost> start_host(const CommunicatorOptions& options) {
  if (options.host_config.empty()) return nullptr;
  return std::make_unique<worker::CompletionHost>(
      worker::load_host_config(options.host_config, options.host_node), worker::random_nonce());
}

class CommunicatorImpl final : public Communicator {
 public:
  explicit CommunicatorImpl(const CommunicatorOptions& options)
      : options_(options),
        host_(start_host(options)),
        switches_(std::make_unique<worker::Switches>(options)) {}

  ~CommunicatorImpl() override {
    if (::getpid() == owner_) return;
    switches_->abandon();
    if (host_ == nullptr) return;
    host_->abandon();
    [[maybe_unused]] auto* leaked_host = host_.release();
  }

  Request start(const CollectiveCall& call) override {
    check(call);
    if (call.collective == wire::Collective::barrier) return submit(call, {}, {}, false);
    return submit(call, worker::CallMemory(call, options_.rank, size()), {}, false);
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
    return submit(whole, memory, std::move(list), true);
  }

  bool resize(std::uint32_t size) override {
    check_owner();
    return switches_->resize(size);
  }

  void put(const std::string& name, std::span<const std::byte> value, Duration limit) override {
    auto call = name_call(worker::NameCall::Kind::put, name, limit);
    call->value.assign(value.begin(), value.end());
    finish(std::move(call));
  }
  std::vector<std::byte> get(const std::string& name, Duration limit) override {
    return std::move(finish(name_call(worker::NameCall::Kind::get, name, limit))->value);
  }
  [[nodiscard]] std::string run() const override { return std::to_string(switches_->run_number()); }

  std::shared_ptr<std::byte[]> allocate(std::size_t bytes) override {
    check_owner();
    return memory_.allocate(bytes);
  }

  [[nodiscard]] std::uint32_t job() const override { return options_.job; }
  [[nodiscard]] std::uint32_t rank() const override { return options_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return switches_->size(); }
  [[nodiscard]] std::uint16_t epoch() const override { return switches_->epoch(); }
  [[nodiscard]] CommunicatorStats stats() const override { return switches_->stats(); }
  [[nodiscard]] CommunicatorStages stages() const override { return switches_->stages(); }
  [[nodiscard]] bool modular() const override {
    return static_cast<wire::Arithmetic>(switches_->start_info().arithmetic) ==
           wire::Arithmetic::modular;
  }

 private:
  void check(const CollectiveCall& call) const {
    switches_->check_member();
    const wire::StartInfo job = switches_->start_info();
    worker::check_call(call, size(), static_cast<wire::Partials>(job.partials),
                       static_cast<wire::Arithmetic>(job.arithmetic));
  }

  [[nodiscard]] worker::NameCalls::Call name_call(worker::NameCall::Kind kind,
                                                  const std::string& name, Duration limit) const {
    check_owner();
    auto call = std::make_shared<worker::NameCall>();
    call->kind = kind;
    call->name = worker::complete_name(name, options_.job, run(), kind);
    call->limit = limit;
    return call;
  }

  worker::NameCalls::Call finish(worker::NameCalls::Call call) {
    switches_->start(call);
    while (!switches_->wait_for(*call, kCancelPeriod))
      if (options_.cancelled && options_.cancelled())
        throw CommunicatorError(wire::Reason::none, {}, call->name + ": the caller gave up");
    if (call->failure) throw_failure(*call->failure);
    return call;
  }

  void check_owner() const {
    if (::getpid() != owner_)
      throw std::logic_error("this communicator belongs to process " + std::to_string(owner_) +
                             "; a forked process must create its own");
  }

  // check() has accepted the call.
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
                 worker::ArrayList list, bool is_list) {
    check_owner();
    auto state = std::make_shared<Request::State>();
    state->ranks = size();
    state->list = std::move(list);
    worker::Op op = op_of(call);
    state->result_elements = worker::elements_got(call, options_.rank, size());
    if (memory.needs_staging()) stage(op, *state);
    switches_->start(state, op, memory,
                     {call.encoding == wire::Encoding::block_scaled, call.scale_exponent, is_list});
    return Request(std::move(state));
  }

  // The result first goes to memory of its own.
  static void stage(worker::Op& op, Request::State& state) {
    state.output = op.output;
    state.output_bytes = op.count * wire::size_of(op.dtype);
    state.staged = std::make_unique_for_overwrite<std::byte[]>(state.output_bytes);
    op.output = state.staged.get();
  }

  const CommunicatorOptions options_;
  const pid_t owner_ = ::getpid();
  worker::AgreedMemory memory_{options_.address_bits};
  std::unique_ptr<worker::CompletionHost> host_;  // outlives the session: other ranks may need it
  std::unique_ptr<worker::Switches> switches_;
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
  const CommunicatorOptions options = worker::with_environment(
      worker::with_manager(given, std::getenv, worker::ask_manager), std::getenv);
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
