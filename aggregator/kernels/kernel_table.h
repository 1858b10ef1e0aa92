// The kernels for each data type and reduce op, looked up once per shard.
#pragma once

#include <array>
#include <cstdint>

#include "aggregator/kernels/reduce.h"
#include "config/model/switch_config.h"

namespace tributary::aggregator {

class KernelTable {
 public:
  explicit KernelTable(wire::Arithmetic arithmetic);
  // nullptr if there is no such pair.
  [[nodiscard]] const Kernels* find(wire::DType t, wire::ReduceOp op) const {
    return kernels_[static_cast<std::size_t>(t) * 16 + static_cast<std::size_t>(op)];
  }

 private:
  std::array<const Kernels*, std::size_t{16} * 16> kernels_{};
};

// The pairs that a job may ask for (T14).
class AdmittedReductions {
 public:
  explicit AdmittedReductions(const config::JobConfig& job);
  [[nodiscard]] bool contains(wire::DType t, wire::ReduceOp op) const {
    return (ops_[static_cast<std::size_t>(t)] >> static_cast<unsigned>(op) & 1u) != 0;
  }
  [[nodiscard]] bool any(wire::DType t) const { return ops_[static_cast<std::size_t>(t)] != 0; }

 private:
  std::array<std::uint16_t, 16> ops_{};  // bit per op
};

}  // namespace tributary::aggregator
