// Tables of a switch's aggregation engine: its memory besides payload, computed from the
// configuration. A job has tables in each shard, and for its membership; a shard and the engine
// have tables that do not depend on jobs.
//
// The sizes of the engine's structures are stated here, because this code cannot include them; the
// engine asserts that they are right. The large ones, which change with each new member, are stated
// a little larger than they are now.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "config/model/switch_config.h"

namespace tributary::config {

inline constexpr std::size_t kEngineBytes = 2304;      // and what it points to directly
inline constexpr std::size_t kShardBytes = 13184;      // the same
inline constexpr std::size_t kJobBytes = 6464;         // membership, counters, latest epochs
inline constexpr std::size_t kShardJobBytes = 2176;    // of each job in each shard
inline constexpr std::size_t kBufferClassBytes = 152;  // of each size of buffers in each shard
inline constexpr std::size_t kChunkEntryBytes = 64;    // of each of the last 2 x window seqs
inline constexpr std::size_t kChildBytes = 88;         // of each child in each shard
inline constexpr std::size_t kMemberBytes = 56;        // of each child
inline constexpr std::size_t kPlaceBytes = 20;         // of each child: id and ranks
inline constexpr std::size_t kEndpointBytes = 32;      // where a child is
inline constexpr std::size_t kCacheEntryBytes = 64;    // of each cached result
inline constexpr std::size_t kPoolSlotBytes = 16;      // of each slot that dynamic jobs share
inline constexpr std::size_t kPoolShareBytes = 16;     // of each job that may have some
inline constexpr std::size_t kIndexEntryBytes = 16;    // from a job's id to it
inline constexpr std::size_t kAskedBytes = 16;   // of each chunk that the parent may be asked about
inline constexpr std::size_t kUnsentBytes = 16;  // of each buffer that it may still be sent
inline constexpr std::size_t kOrderBytes = 8;    // of each bracket, and each run inside
inline constexpr std::size_t kBufferIndexBytes = 4;
inline constexpr std::size_t kBufferBytes =
    5;  // of each buffer: its index, and whether it is taken
inline constexpr std::uint32_t kOpHistory = 32;     // ops of a job whose time-lines are kept
inline constexpr std::size_t kOpRecordBytes = 400;  // of each of them
inline constexpr std::size_t kArrivalBytes = 8;     // of each child, in two chunks of each
inline constexpr std::size_t kLatenessBytes = 16;   // of each child in each

// Buffers that a job may release while messages to its parent refer to them.
std::size_t most_unsent(const JobConfig& job);
// Entries of an index for so many jobs.
constexpr std::size_t index_entries(std::size_t jobs) {
  return std::bit_ceil(jobs * 2 + 2);
}
// Heap bytes of a copy of the job.
std::size_t copy_bytes(const JobConfig& job);
std::uint32_t largest_fan_in(const SwitchConfig& config);

// Tables of a job in one shard; and of its membership.
std::size_t shard_job_tables(const JobConfig& job);
std::size_t membership_tables(const JobConfig& job);
// Tables of the engine and its shards, without those for each job, slot or cached result.
std::size_t engine_tables(const SwitchConfig& config);

}  // namespace tributary::config
