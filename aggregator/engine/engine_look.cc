// The engine's state of the chunk that a packet names, for `tributary trace`.
#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// Other types have a number in that field that means something else, or nothing.
bool names_chunk(wire::PacketType type) {
  using enum wire::PacketType;
  switch (type) {
    case contribution:
    case aggregate:
    case escalation:
    case probe:
    case result:
    case pending:
    case unknown: return true;
    default: return false;
  }
}

}  // namespace

ChunkLook Engine::look(const wire::Header& h) const {
  const Shard* const shard = impl_->shard_at(h.shard);
  if (h.stream != 0 || !names_chunk(h.type) || shard == nullptr) return {};
  return shard->look(h);
}

}  // namespace tributary::aggregator
