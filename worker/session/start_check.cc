#include "worker/session/start_check.h"

#include <algorithm>
#include <bit>

#include "config/model/switch_config.h"
#include "core/wire/header.h"
#include "core/wire/integrity.h"

namespace tributary::worker {
namespace {

constexpr std::size_t kExtensionRoom = 64;  // rule 17

}  // namespace

std::string object_to_start(const wire::StartInfo& info, bool fragments,
                            const SessionOptions& options) {
  const auto number = [](auto n) { return std::to_string(n); };
  if (info.workers != options.size)
    return "the switch counts " + number(info.workers) + " workers, this rank " +
           number(options.size);
  if (!std::has_single_bit(info.window) || info.window > config::kMaxWindow)
    return "window " + number(info.window) + " is not a power of two up to " +
           number(config::kMaxWindow);
  if (info.chunk_bytes == 0 || info.chunk_bytes % 8 != 0 ||
      info.chunk_bytes > config::kMaxChunkBytes)
    return "chunk_bytes " + number(info.chunk_bytes) + " is not a multiple of 8 up to " +
           number(config::kMaxChunkBytes);
  if (info.shards == 0 || info.shards > config::kMaxShards)
    return number(info.shards) + " shards; 1 to " + number(config::kMaxShards) + " are allowed";
  if (info.planes > config::kMaxPlanes || info.planes * info.shards > config::kMaxShards)
    return number(info.planes) + " planes of " + number(info.shards) + " shards; " +
           number(config::kMaxShards) + " shards are allowed in all";
  if (options.plane >= info.planes)
    return "the job has " + number(info.planes) + " planes, this is number " +
           number(options.plane);
  if (info.integrity > static_cast<std::uint8_t>(wire::Integrity::always))
    return "integrity " + number(info.integrity) + " is unknown";
  if (info.notify > static_cast<std::uint8_t>(wire::Notify::direct))
    return "how results are notified (" + number(info.notify) + ") is unknown to this library";
  if (info.partials > 1 || info.order > 1 || info.arithmetic > 1)
    return "how the job sums (partials " + number(info.partials) + ", order " + number(info.order) +
           ", arithmetic " + number(info.arithmetic) + ") is unknown to this library";
  if (info.lease_ms == 0) return "the lease is 0";
  const std::size_t path = fragments ? std::max(options.max_datagram_bytes, options.max_cut_bytes)
                                     : options.max_datagram_bytes;
  if (const std::size_t most = wire::kHeaderBytes + kExtensionRoom + info.chunk_bytes; most > path)
    return "chunks of " + number(info.chunk_bytes) + " bytes need datagrams of " + number(most) +
           ", but the path carries " + number(path) +
           ": raise the MTU, lower chunk_bytes, or let the switch take fragments";
  return {};
}

}  // namespace tributary::worker
