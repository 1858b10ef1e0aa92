#include "pool/link/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <stdexcept>
#include <vector>

namespace tributary::pool {

Nonce draw_nonce() {
  Nonce nonce;
  if (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    throw std::runtime_error("no random numbers from the kernel");
  return nonce;
}

TokenProof prove(const std::string& token, Role role, const Nonce& readers, const Nonce& nodes) {
  std::vector<std::byte> text = {static_cast<std::byte>(role)};
  text.insert(text.end(), readers.begin(), readers.end());
  text.insert(text.end(), nodes.begin(), nodes.end());
  TokenProof proof{};
  unsigned length = 0;
  if (HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(proof.data()), &length) == nullptr ||
      length != proof.size())
    throw std::runtime_error("HMAC-SHA256 fails");
  return proof;
}

bool same(const TokenProof& a, const TokenProof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace tributary::pool
