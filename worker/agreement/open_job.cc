#include "worker/agreement/open_job.h"

#include <bit>
#include <stdexcept>

#include "config/model/switch_config.h"
#include "worker/session/session_options.h"

namespace tributary {
namespace {

std::string times(std::uint32_t units, std::uint32_t nodes, std::uint32_t size) {
  return "units " + std::to_string(units) + " x nodes " + std::to_string(nodes) +
         " are not the size, " + std::to_string(size);
}

// Empty: none.
std::string mistake_in(const OpenOptions& open, std::uint32_t size) {
  if (std::uint64_t{open.units} * open.nodes != size) return times(open.units, open.nodes, size);
  if (size > config::kMaxWorkers)
    return "size " + std::to_string(size) + " of a job that ranks open; allowed: at most " +
           std::to_string(config::kMaxWorkers);
  if (!std::has_single_bit(open.window) || open.window > config::kMaxWindow)
    return "window " + std::to_string(open.window) + "; allowed: 1 to " +
           std::to_string(config::kMaxWindow) + ", power of two";
  if (open.chunk_bytes == 0 || open.chunk_bytes % 8 != 0 ||
      open.chunk_bytes > config::kMaxChunkBytes)
    return "chunk_bytes " + std::to_string(open.chunk_bytes) + "; allowed: 8 to " +
           std::to_string(config::kMaxChunkBytes) + ", multiple of 8";
  return {};
}

OpenOptions completed(OpenOptions open, std::uint32_t size) {
  if (open.nodes == 0) open.nodes = open.units == 0 ? 1 : size / open.units;
  if (open.units == 0) open.units = size / open.nodes;
  return open;
}

}  // namespace

Open open_of(const std::string& text) {
  if (text.empty()) return Open::never;
  if (text == "inline") return Open::with_join;
  if (text == "control") return Open::control;
  if (text == "wait") return Open::wait;
  throw std::invalid_argument("open is \"" + text + "\"; allowed: inline, control, wait");
}

void worker::take_open(const OpenOptions& open, SessionOptions& session) {
  session.waits_for_job = open.by != Open::never;
  if (open.by == Open::never || open.by == Open::wait) return;
  const OpenOptions all = completed(open, session.size);
  if (const std::string wrong = mistake_in(all, session.size); !wrong.empty())
    throw std::invalid_argument(wrong);
  if (open.by == Open::control && session.rank % all.units != 0) return;
  const auto number = [](std::uint32_t n) { return static_cast<std::uint16_t>(n); };
  session.open = wire::OpenJob{number(all.units), number(all.nodes), number(all.window),
                               number(all.chunk_bytes)};
}

}  // namespace tributary
