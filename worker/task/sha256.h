// SHA-256 (FIPS 180-4) by OpenSSL: the digest of a task's data and of its results.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace tributary::task {

using Sha256 = std::array<std::byte, 32>;

// Any thread.
Sha256 sha256(std::span<const std::byte> bytes);
// In hexadecimal, as records and manifests have it.
std::string text_of(const Sha256& digest);
inline std::string sha256_hex(std::span<const std::byte> bytes) {
  return text_of(sha256(bytes));
}

}  // namespace tributary::task
