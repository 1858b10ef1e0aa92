#include "core/wire/drain.h"

#include <cstring>

namespace tributary::wire {
namespace {

struct DrainWire {
  be64 id;
  be32 op, by;
};
static_assert(sizeof(DrainWire) == 16);

}  // namespace

// A switch that knows of no drains still takes a JOIN that says "able"; all else would mislead it.
bool add_drain(ExtensionWriter& extensions, const Drain& drain) {
  DrainWire w{};
  w.id = drain.id;
  w.op = drain.op;
  w.by = drain.by;
  const auto type = static_cast<std::uint8_t>(ExtensionType::drain);
  const bool critical = drain.step != DrainStep::able;
  return extensions.add_raw(critical ? type | kCriticalBit : type,
                            static_cast<std::uint16_t>(drain.step),
                            std::as_bytes(std::span(&w, 1)));
}

std::optional<Drain> find_drain(std::span<const std::byte> area) {
  const auto found = find_extension(area, ExtensionType::drain);
  if (!found || found->data.size() < sizeof(DrainWire)) return std::nullopt;
  DrainWire w;
  std::memcpy(&w, found->data.data(), sizeof w);
  return Drain{static_cast<DrainStep>(found->inline_value), w.id, w.op, w.by};
}

Resumption find_resumption(std::span<const std::byte> area) {
  const auto drain = find_drain(area);
  if (!drain || drain->step != DrainStep::resume) return {};
  return {drain->id, drain->op};
}

}  // namespace tributary::wire
