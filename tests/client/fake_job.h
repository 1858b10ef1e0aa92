// A job whose ranks are threads of this process and whose switch is a function, which the last rank
// to call runs over all ranks' memory. Faults can be asked for.
#pragma once

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "aggregator/kernels/reduce.h"
#include "worker/api/communicator.h"

namespace tributary::client {

class FakeJob {
 public:
  explicit FakeJob(std::uint32_t size) : size_(size), calls_(size) {}

  // Bytes of the results of this op (0: the first, barriers not counted) differ on this rank.
  void corrupt(std::uint32_t rank, int op) {
    corrupt_rank_ = rank;
    corrupt_op_ = op;
  }
  // This rank's create() throws; ops of the others fail as if it had left.
  void refuse(std::uint32_t rank) { refused_rank_ = rank; }

  std::unique_ptr<Communicator> create(const CommunicatorOptions& options) {
    if (options.rank == refused_rank_) {
      const std::lock_guard lock(mutex_);
      broken_ = true;
      changed_.notify_all();
      throw std::runtime_error("refused");
    }
    {
      const std::lock_guard lock(mutex_);
      joined_.push_back(options);
    }
    return std::make_unique<Rank>(*this, options);
  }
  // Options of every rank that joined, in the order of joining.
  [[nodiscard]] const std::vector<CommunicatorOptions>& joined() const { return joined_; }

 private:
  class Rank final : public Communicator {
   public:
    Rank(FakeJob& job, const CommunicatorOptions& options) : job_(job), options_(options) {}
    Request start(const CollectiveCall& call) override {
      const bool barrier = call.collective == wire::Collective::barrier;
      job_.run(options_.rank, call, barrier ? -1 : ops_++);
      return {};
    }
    Request start(const CollectiveCall&, std::span<const ArrayPart>) override {
      throw std::logic_error("the client has no lists");
    }
    std::shared_ptr<std::byte[]> allocate(std::size_t bytes) override {
      return std::make_shared<std::byte[]>(bytes);
    }
    bool resize(std::uint32_t) override { throw std::logic_error("the client is never resized"); }
    void put(const std::string&, std::span<const std::byte>, Duration) override {
      throw std::logic_error("the client puts no values");
    }
    std::vector<std::byte> get(const std::string&, Duration) override {
      throw std::logic_error("the client gets values as a reader");
    }
    [[nodiscard]] std::string run() const override { return "1"; }
    [[nodiscard]] std::uint32_t job() const override { return options_.job; }
    [[nodiscard]] std::uint32_t rank() const override { return options_.rank; }
    [[nodiscard]] std::uint32_t size() const override { return options_.size; }
    [[nodiscard]] std::uint16_t epoch() const override { return 1; }
    [[nodiscard]] bool modular() const override { return false; }
    [[nodiscard]] CommunicatorStats stats() const override { return {}; }

   private:
    FakeJob& job_;
    CommunicatorOptions options_;
    int ops_ = 0;
  };

  void run(std::uint32_t rank, const CollectiveCall& call, int op) {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = round_;
    calls_[rank] = call;
    if (++arrived_ == size_) {
      if (op >= 0) compute();
      if (op >= 0 && op == corrupt_op_) damage(calls_[corrupt_rank_]);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return broken_ || round_ != mine; });
    if (round_ == mine)
      throw CommunicatorError(wire::Reason::rank_left, {refused_rank_}, "a rank left");
  }

  static std::byte* bytes(void* memory) { return static_cast<std::byte*>(memory); }
  static void damage(const CollectiveCall& call) {
    std::byte* const result = bytes(call.output != nullptr ? call.output : call.data);
    result[0] ^= std::byte{1};
  }
  void compute() const {
    const CollectiveCall& call = calls_[0];
    const std::size_t part = call.count * wire::size_of(call.dtype);
    switch (call.collective) {
      case wire::Collective::allreduce:
        for (const auto sum = reduced(call.count); const auto& c : calls_)
          std::memcpy(c.data, sum.data(), part);
        return;
      case wire::Collective::reduce:
        std::memcpy(calls_[call.root].data, reduced(call.count).data(), part);
        return;
      case wire::Collective::reduce_scatter: {
        const auto sum = reduced(call.count * size_);
        for (std::size_t r = 0; r < size_; ++r)
          std::memcpy(calls_[r].output, sum.data() + r * part, part);
        return;
      }
      case wire::Collective::broadcast:
        for (const auto& c : calls_)
          if (c.data != calls_[call.root].data) std::memcpy(c.data, calls_[call.root].data, part);
        return;
      case wire::Collective::all_gather:
        for (const auto& c : calls_)
          for (std::size_t r = 0; r < size_; ++r)
            std::memcpy(bytes(c.output) + r * part, calls_[r].data, part);
        return;
      case wire::Collective::open:
      case wire::Collective::update:  // the client has no model
      case wire::Collective::barrier: return;
    }
  }
  [[nodiscard]] std::vector<std::byte> reduced(std::size_t count) const {
    const CollectiveCall& call = calls_[0];
    const auto* kernels =
        aggregator::find_kernels(call.dtype, call.op, aggregator::Arithmetic::modular);
    std::vector<std::byte> sum(count * kernels->acc_bytes);
    kernels->open(sum.data(), call.data, count);
    for (std::size_t r = 1; r < size_; ++r) kernels->fold(sum.data(), calls_[r].data, count);
    std::vector<std::byte> result(count * kernels->wire_bytes);
    kernels->finish(result.data(), sum.data(), count, size_);
    return result;
  }

  const std::uint32_t size_;
  std::uint32_t corrupt_rank_ = ~0u;
  int corrupt_op_ = -2;
  std::uint32_t refused_rank_ = ~0u;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<CommunicatorOptions> joined_;
  std::vector<CollectiveCall> calls_;  // of the round under way
  std::uint32_t arrived_ = 0;
  std::uint64_t round_ = 0;
  bool broken_ = false;
};

}  // namespace tributary::client
