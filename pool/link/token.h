// Proofs of the pool's token, which both sides give before the node sends keys, and of the
// operators' token: HMAC-SHA256 over the role and both nonces. A token itself is never sent.
#pragma once

#include <string>

#include "pool/record/message.h"

namespace tributary::pool {

enum class Role : std::uint8_t { node = 1, reader = 2, operates = 3 };

Nonce draw_nonce();
TokenProof prove(const std::string& token, Role role, const Nonce& readers, const Nonce& nodes);
// Compares in constant time.
bool same(const TokenProof& a, const TokenProof& b);

}  // namespace tributary::pool
