// A job whose ranks are threads of this process and whose switch is a function: sums in rank
// order. Faults can be asked for.
#pragma once

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "worker/communicator.h"

namespace tributary::client {

class FakeJob {
 public:
  explicit FakeJob(std::uint32_t size) : size_(size) {}

  // The results of this op (0: the first, barriers not counted) differ at element 0 on this rank.
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
    Request allreduce(void* data, std::size_t count, wire::DType dtype, wire::ReduceOp) override {
      job_.reduce(options_.rank, data, count, dtype, ops_++);
      return {};
    }
    Request barrier_async() override {
      job_.reduce(options_.rank, nullptr, 0, wire::DType::int32, -1);
      return {};
    }
    [[nodiscard]] std::uint32_t rank() const override { return options_.rank; }
    [[nodiscard]] std::uint32_t size() const override { return options_.size; }
    [[nodiscard]] std::uint16_t epoch() const override { return 1; }
    [[nodiscard]] CommunicatorStats stats() const override { return {}; }

   private:
    FakeJob& job_;
    CommunicatorOptions options_;
    int ops_ = 0;
  };

  void reduce(std::uint32_t rank, void* data, std::size_t count, wire::DType dtype, int op) {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = round_;
    add(data, count, dtype);
    if (++arrived_ == size_) {
      result_.swap(sum_);
      sum_.clear();
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return broken_ || round_ != mine; });
    if (round_ == mine)
      throw CommunicatorError(wire::Reason::rank_left, {refused_rank_}, "a rank left");
    for (std::size_t i = 0; i < count; ++i) {
      const double value = result_[i] + (op == corrupt_op_ && rank == corrupt_rank_ && i == 0);
      store(data, i, dtype, value);
    }
    // Nobody may start the next round's result before all have copied this one.
    if (++copied_ == size_) {
      copied_ = 0;
      ++copies_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return broken_ || copies_ > mine; });
  }
  void add(const void* data, std::size_t count, wire::DType dtype) {
    sum_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::int32_t whole = 0;
      float real = 0;
      const char* at = static_cast<const char*>(data) + 4 * i;
      std::memcpy(&whole, at, 4);
      std::memcpy(&real, at, 4);
      sum_[i] += dtype == wire::DType::int32 ? whole : static_cast<double>(real);
    }
  }
  static void store(void* data, std::size_t i, wire::DType dtype, double value) {
    const auto whole = static_cast<std::int32_t>(value);
    const auto real = static_cast<float>(value);
    const void* from = dtype == wire::DType::int32 ? static_cast<const void*>(&whole) : &real;
    std::memcpy(static_cast<char*>(data) + 4 * i, from, 4);
  }

  const std::uint32_t size_;
  std::uint32_t corrupt_rank_ = ~0u;
  int corrupt_op_ = -2;
  std::uint32_t refused_rank_ = ~0u;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<CommunicatorOptions> joined_;
  std::vector<double> sum_;
  std::vector<double> result_;
  std::uint32_t arrived_ = 0;
  std::uint32_t copied_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t copies_ = 0;
  bool broken_ = false;
};

}  // namespace tributary::client
