#include "aggregator/names/name_memory.h"

#include "aggregator/names/name_store.h"
#include "aggregator/names/pending_table.h"
#include "config/plan/lcore_plan.h"

namespace tributary::aggregator {
namespace {

// In tenths, rounded.
std::string mebibytes(std::uint64_t bytes) {
  const std::uint64_t tenths = (bytes * 10 + (1u << 19)) >> 20;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

NameMemory name_memory(const config::SwitchConfig& config) {
  NameMemory memory;
  if (!config.names.enabled()) return memory;
  const std::size_t lcores = config::lcore_count(config);
  for (std::size_t lcore = 0; lcore < lcores; ++lcore) {
    const std::uint64_t bytes = config::lcore_share(config, lcore).names_bytes;
    const auto slots = static_cast<std::uint32_t>(bytes / config.names.segment_bytes);
    memory.segments += std::uint64_t{slots} * config.names.segment_bytes;
    memory.tables += NameStore::table_bytes(config.names.entries, slots) +
                     PendingTable::table_bytes(config.names.pending);
  }
  return memory;
}

std::string describe_names(const config::SwitchConfig& config) {
  if (!config.names.enabled()) return "";
  const NameMemory memory = name_memory(config);
  return "names: " + mebibytes(memory.total()) + " MiB (segments " + mebibytes(memory.segments) +
         ", tables " + mebibytes(memory.tables) + ")\n";
}

}  // namespace tributary::aggregator
