// XXH64 (Yann Collet, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md): the digest
// of a named value's segments, and the hash of names. It finds other bytes under one name; it is no
// defence against a member that looks for two values of one digest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary {

std::uint64_t xxh64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

}  // namespace tributary
