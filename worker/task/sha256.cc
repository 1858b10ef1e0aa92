#include "worker/task/sha256.h"

#include <openssl/evp.h>

#include <new>

namespace tributary::task {

Sha256 sha256(std::span<const std::byte> bytes) {
  Sha256 digest{};
  // Fails only for want of memory.
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 nullptr, EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
  return digest;
}

std::string text_of(const Sha256& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte one : digest) {
    const auto value = std::to_integer<unsigned>(one);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

}  // namespace tributary::task
