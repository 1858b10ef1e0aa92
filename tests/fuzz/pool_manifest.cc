// Manifests and tar records: whatever is accepted places each record inside of its shard, and each
// member inside of its record.
#include <cstring>
#include <vector>

#include "core/net/checksum.h"
#include "pool/record/manifest.h"
#include "pool/record/tar.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

// A checksum that fits, or no input gets past it.
std::vector<std::byte> repaired(std::span<const std::byte> bytes) {
  constexpr std::size_t kHead = 64;
  constexpr std::size_t kFingerprint = 48;
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  if (out.size() < kHead) return out;
  const std::uint32_t before = wire::crc32c(std::span(out).first(kFingerprint));
  const std::uint64_t fingerprint =
      std::uint64_t{before} << 32 | wire::crc32c(std::span(out).subspan(kHead), before);
  std::memcpy(out.data() + kFingerprint, &fingerprint, sizeof fingerprint);
  return out;
}

void check_manifest(std::span<const std::byte> bytes) {
  try {
    const pool::Manifest manifest(bytes);
    for (std::uint64_t id = 0; id < std::min<std::uint64_t>(manifest.records(), 1000); ++id) {
      const pool::Source source = manifest.source(id);
      FUZZ_CHECK(source.shard < manifest.shards().size());
      FUZZ_CHECK(source.length <= manifest.longest());
      FUZZ_CHECK(source.offset + source.length <= manifest.shards()[source.shard].bytes);
    }
  } catch (const pool::ManifestError& error) {
    FUZZ_CHECK(error.what()[0] != '\0');
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto bytes = fuzz::as_bytes(data, size);
  fuzz::check_manifest(bytes);
  fuzz::check_manifest(fuzz::repaired(bytes));
  std::vector<pool::TarMember> members;
  if (pool::list_tar(bytes, members))
    for (const auto& member : members) FUZZ_CHECK(member.data_offset + member.bytes <= size);
  return 0;
}
