// Task information of a job that a switch learns from its ranks (A1, A4): an extension of JOIN.
//
// Rank r is unit r % units of node r / units. A node's units are at one switch, its first; the
// switches of several nodes are below one more.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/wire/extension.h"

namespace tributary::wire {

struct OpenJob {
  std::uint16_t units = 0;  // of a node
  std::uint16_t nodes = 0;
  std::uint16_t window = 0;       // chunks in flight
  std::uint16_t chunk_bytes = 0;  // largest payload

  bool operator==(const OpenJob&) const = default;

  [[nodiscard]] std::uint32_t workers() const { return std::uint32_t{units} * nodes; }
};

// The bound that a job would exceed. NACK(open-refused) has this number in `origin`, the id of
// the switch in `slot`, how much is needed with that job in `op`, and how much there is in `chunk`.
// NACK(other-task) has in `origin` units << 16 | nodes of the job, in `slot` the same, in `op` its
// window, and in `chunk` its chunk_bytes.
enum class OpenLimit : std::uint8_t {
  none = 0,
  jobs = 1,
  slots = 2,
  kibibytes = 3,  // of memory
  nodes = 4,      // switches to sum for
  other = 5,      // the switch's log says what
};

// "units 2, nodes 2, window 64, chunk_bytes 1024"
std::string text_of(const OpenJob& job);

bool add_open_job(ExtensionWriter& extensions, const OpenJob& job);
// nullopt where the extension is no OpenJob: its length, or a value that no job can have.
std::optional<OpenJob> read_open_job(const Extension& extension);

}  // namespace tributary::wire
