#include "core/wire/types.h"

namespace tributary::wire {

const char* name_of(PacketType type) {
  switch (type) {
    case PacketType::contribution: return "contribution";
    case PacketType::aggregate: return "aggregate";
    case PacketType::result: return "result";
    case PacketType::escalation: return "escalation";
    case PacketType::probe: return "probe";
    case PacketType::pending: return "pending";
    case PacketType::unknown: return "unknown";
    case PacketType::ack: return "ack";
    case PacketType::nack: return "nack";
    case PacketType::abort: return "abort";
    case PacketType::join: return "join";
    case PacketType::start: return "start";
    case PacketType::lease: return "lease";
    case PacketType::leave: return "leave";
    case PacketType::put: return "put";
    case PacketType::stored: return "stored";
    case PacketType::get: return "get";
    case PacketType::data: return "data";
    case PacketType::refuse: return "refuse";
  }
  return "?";
}

const char* name_of(DType type) {
  switch (type) {
    case DType::none: return "none";
#define X(id, number, name, bytes) \
  case DType::id: return name;
      TRIBUTARY_DTYPES(X)
#undef X
  }
  return "?";
}

const char* name_of(ReduceOp op) {
  switch (op) {
#define X(id, number, name) \
  case ReduceOp::id: return name;
    TRIBUTARY_REDUCE_OPS(X)
#undef X
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (std::uint8_t t = 0; t <= kDTypeMax; ++t)
    if (name == name_of(static_cast<DType>(t))) return static_cast<DType>(t);
  return std::nullopt;
}

std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  for (std::uint8_t op = 1; op <= kReduceOpMax; ++op)
    if (name == name_of(static_cast<ReduceOp>(op))) return static_cast<ReduceOp>(op);
  return std::nullopt;
}

const char* name_of(Collective c) {
  switch (c) {
    case Collective::allreduce: return "allreduce";
    case Collective::reduce: return "reduce";
    case Collective::broadcast: return "broadcast";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::barrier: return "barrier";
    case Collective::open: return "open";
    case Collective::update: return "update";
  }
  return "?";
}

const char* name_of(Reason r) {
  switch (r) {
    case Reason::none: return "none";
    case Reason::deadline: return "deadline";
    case Reason::excluded: return "excluded";
    case Reason::collision: return "collision";
    case Reason::resend: return "resend";
    case Reason::overflow: return "overflow";
    case Reason::no_slot: return "no-slot";
    case Reason::verify: return "verify";
    case Reason::unknown_job: return "unknown-job";
    case Reason::not_joined: return "not-joined";
    case Reason::stale_epoch: return "stale-epoch";
    case Reason::bad_rank: return "bad-rank";
    case Reason::sender_mismatch: return "sender-mismatch";
    case Reason::job_size_mismatch: return "job-size-mismatch";
    case Reason::aborted: return "aborted";
    case Reason::settings_mismatch: return "settings-mismatch";
    case Reason::planes_mismatch: return "planes-mismatch";
    case Reason::open_refused: return "open-refused";
    case Reason::other_task: return "other-task";
    case Reason::other_run: return "other-run";
    case Reason::lease_expired: return "lease-expired";
    case Reason::rank_left: return "rank-left";
    case Reason::rank_restarted: return "rank-restarted";
    case Reason::op_mismatch: return "op-mismatch";
    case Reason::shutdown: return "shutdown";
    case Reason::parent_lost: return "parent-lost";
    case Reason::host_lost: return "host-lost";
    case Reason::model_lost: return "model-lost";
    case Reason::model_mismatch: return "model-mismatch";
    case Reason::configuration_changed: return "configuration-changed";
    case Reason::broken_invariant: return "broken-invariant";
    case Reason::names_off: return "names-off";
    case Reason::bad_name: return "bad-name";
    case Reason::foreign_name: return "foreign-name";
    case Reason::not_allowed: return "not-allowed";
    case Reason::name_taken: return "name-taken";
    case Reason::name_unknown: return "name-unknown";
    case Reason::names_full: return "names-full";
    case Reason::names_busy: return "names-busy";
    case Reason::value_too_large: return "value-too-large";
  }
  return "?";
}

}  // namespace tributary::wire
