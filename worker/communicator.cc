// The public face of a Progress: checks arguments, turns failures into exceptions.
#include "worker/communicator.h"

#include <unistd.h>

#include <limits>
#include <random>

#include "worker/progress.h"

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

std::unique_ptr<worker::Progress> start_progress(const CommunicatorOptions& options) {
  auto transport = worker::make_transport(options.address, options.job, options.rank);
  worker::SessionOptions s;
  s.job = options.job;
  s.rank = options.rank;
  s.size = options.size;
  s.nonce = random_nonce();
  s.join_timeout = options.join_timeout;
  s.op_timeout = options.op_timeout;
  s.max_datagram_bytes = transport->max_datagram_bytes();
  s.switch_name = options.address;
  return std::make_unique<worker::Progress>(std::move(transport), s);
}

class CommunicatorImpl final : public Communicator {
 public:
  explicit CommunicatorImpl(const CommunicatorOptions& options)
      : options_(options), progress_(start_progress(options)) {
    while (!progress_->wait_joined(options.cancelled ? kCancelPeriod : Duration::seconds(3600))) {
      if (options.cancelled && options.cancelled())
        throw CommunicatorError(wire::Reason::none, {},
                                "job " + std::to_string(options.job) + ": joining was cancelled");
    }
    if (progress_->join_failure()) throw_failure(*progress_->join_failure());
  }

  ~CommunicatorImpl() override {
    if (::getpid() == owner_) return;
    progress_->abandon();
    [[maybe_unused]] auto* leaked = progress_.release();
  }

  Request allreduce(void* data, std::size_t count, wire::DType dtype, wire::ReduceOp op) override {
    if (!worker::is_supported(dtype, op))
      throw std::invalid_argument(std::string("allreduce of ") + name_of(dtype) + " with " +
                                  name_of(op) +
                                  " is not supported; int32 and float32 with sum are");
    if (data == nullptr && count > 0) throw std::invalid_argument("allreduce: data is null");
    // Chunk numbers have 32 bits.
    if (count > std::numeric_limits<std::uint32_t>::max())
      throw std::invalid_argument("allreduce of " + std::to_string(count) +
                                  " elements: at most 2^32 - 1 in one op");
    auto state = std::make_shared<Request::State>();
    state->data = static_cast<std::byte*>(data);
    state->count = count;
    state->dtype = dtype;
    state->reduce_op = op;
    return submit(std::move(state));
  }

  Request barrier_async() override {
    auto state = std::make_shared<Request::State>();
    state->collective = wire::Collective::barrier;
    return submit(std::move(state));
  }

  [[nodiscard]] std::uint32_t rank() const override { return options_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return options_.size; }
  [[nodiscard]] std::uint16_t epoch() const override { return progress_->epoch(); }
  [[nodiscard]] CommunicatorStats stats() const override { return progress_->stats(); }

 private:
  Request submit(std::shared_ptr<Request::State> state) {
    if (::getpid() != owner_)
      throw std::logic_error("this communicator belongs to process " + std::to_string(owner_) +
                             "; a forked process must create its own");
    progress_->submit(state);
    return Request(std::move(state));
  }

  const CommunicatorOptions options_;
  const pid_t owner_ = ::getpid();
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

bool Request::done() const {
  return !state_ || state_->done.is_set();
}

std::unique_ptr<Communicator> Communicator::create(const CommunicatorOptions& options) {
  if (options.size == 0 || options.rank >= options.size)
    throw std::invalid_argument("rank " + std::to_string(options.rank) + " of size " +
                                std::to_string(options.size) +
                                ": size is at least 1, ranks are 0 to size - 1");
  return std::make_unique<CommunicatorImpl>(options);
}

}  // namespace tributary
