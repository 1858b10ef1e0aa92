#include "core/wire/open_job.h"

#include <bit>
#include <cstring>

namespace tributary::wire {
namespace {

struct OpenJobWire {
  be16 units, nodes, window, chunk_bytes;
};
static_assert(sizeof(OpenJobWire) == 8);

}  // namespace

std::string text_of(const OpenJob& job) {
  return "units " + std::to_string(job.units) + ", nodes " + std::to_string(job.nodes) +
         ", window " + std::to_string(job.window) + ", chunk_bytes " +
         std::to_string(job.chunk_bytes);
}

// A switch that opens no jobs ignores it, and answers that it has no such job.
bool add_open_job(ExtensionWriter& extensions, const OpenJob& job) {
  const OpenJobWire w{job.units, job.nodes, job.window, job.chunk_bytes};
  return extensions.add_raw(static_cast<std::uint8_t>(ExtensionType::open_job), 0,
                            std::as_bytes(std::span(&w, 1)));
}

std::optional<OpenJob> read_open_job(const Extension& extension) {
  if (extension.type != ExtensionType::open_job || extension.inline_value != 0 ||
      extension.data.size() != sizeof(OpenJobWire))
    return std::nullopt;
  OpenJobWire w;
  std::memcpy(&w, extension.data.data(), sizeof w);
  const OpenJob job{w.units, w.nodes, w.window, w.chunk_bytes};
  if (job.units == 0 || job.nodes == 0 || !std::has_single_bit(job.window)) return std::nullopt;
  if (job.chunk_bytes == 0 || job.chunk_bytes % 8 != 0) return std::nullopt;
  return job;
}

}  // namespace tributary::wire
