// A task's manifest: what main states of its data before it sends them. JSON, at most 64 KiB
// (worker/python/tributary/_task/manifest.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "worker/task/criterion.h"

namespace tributary::task {

inline constexpr std::uint64_t kMostManifest = 64 << 10;

struct Manifest {
  std::uint64_t length = 0;
  std::string digest;  // SHA-256 of the data
  std::uint64_t piece_bytes = 0;
  std::string keep;     // "sum", "worker" or "both"
  std::string publish;  // "": sums get no name
  bool cache = false;   // the switches keep the data
  Criterion criterion;
  std::string metadata;  // JSON
};

// The bytes that travel. Throws std::invalid_argument if the metadata are no JSON, or too much, and
// for what no task may be.
std::string write_manifest(const Manifest& manifest);
// Throws std::invalid_argument.
Manifest parse_manifest(std::span<const std::byte> text);

}  // namespace tributary::task
