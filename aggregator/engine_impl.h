// The engine's insides, shared by its three source files: control packets (engine_join.cc),
// data packets (engine_data.cc), and construction, dispatch and clock (engine.cc).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "aggregator/engine.h"
#include "aggregator/job.h"

namespace tributary::aggregator {

struct Engine::Impl {
  Impl(const config::SwitchConfig& config, EngineStart start);

  // engine.cc
  void build_job(const config::SwitchConfig& config, const config::JobConfig& job_config);
  Decision dispatch(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                    Outbox& out);
  void abort_epoch(Job& job, wire::Reason reason, Outbox& out);
  Decision refuse(const wire::Packet& packet, const Peer& from, wire::Reason why,
                  DropReason counted, Job* job, Outbox& out);
  void send_abort(const Job& job, const Peer* to, Outbox& out);
  // Throws nothing; DropReason::count_ when the sender is a present member of this epoch.
  Decision check_member(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                        Outbox& out);

  // engine_join.cc
  Decision on_join(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                   Outbox& out);
  Decision on_leave(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                    Outbox& out);
  void send_start(Job& job, std::uint32_t rank, Outbox& out);
  void send_join_pending(Job& job, std::uint64_t nonce, const Peer& to, Outbox& out);

  // engine_data.cc
  Decision on_contribution(Job& job, const wire::Packet& packet, const Peer& from, Instant now,
                           Outbox& out);
  Decision on_probe(Job& job, const wire::Packet& packet, const Peer& from, Outbox& out);
  Decision on_ack(Job& job, const wire::Packet& packet);
  void send_result(Job& job, ChunkTable& table, const ChunkEntry& e, std::uint8_t shard,
                   const Peer* to, Outbox& out);
  void abort_mismatch(Job& job, const ChunkEntry& e, const Contribution& got, Outbox& out);
  void abort_missing_departed(Job& job, wire::Reason reason, Outbox& out);

  // The ranks an AbortCause or PENDING lists, gathered here to keep the packet path free of
  // allocation.
  std::array<std::uint32_t, kMaxListedIds> scratch_ids;

  std::uint16_t next_epoch;
  std::uint32_t first_seq;
  std::uint16_t udp_base_port;
  std::vector<std::byte> arena;
  std::span<std::byte> free_arena;
  std::map<std::int64_t, DeadlineQueue> deadline_classes;  // by timeout in ns
  std::vector<std::unique_ptr<Job>> jobs;
  std::unordered_map<std::uint32_t, std::uint32_t> job_index;  // by job id
  std::array<std::array<ReduceFunction, wire::kReduceOpMax + 1>, wire::kDTypeMax + 1> reduce{};
  std::uint32_t next_slot = 0;
};

}  // namespace tributary::aggregator
