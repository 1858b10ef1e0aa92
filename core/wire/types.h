// The vocabulary of the aggregation protocol: packet types, flags, data types, reduce
// operations. Numbers are part of the wire format (docs/protocol.md) and never reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tributary::wire {

inline constexpr std::uint8_t kVersion = 1;

enum class PacketType : std::uint8_t {
  contribution = 1,  // worker → switch: one child's data for one chunk
  aggregate = 2,     // switch → parent: reduced data of a subtree
  result = 3,        // switch → workers: the finished chunk
  escalation = 4,    // switch → completion host
  probe = 5,         // worker → switch: "what of this chunk?", header only
  pending = 6,       // switch → worker: waiting, with the missing ids
  unknown = 7,       // switch → worker: your contribution is not here, send it (again)
  ack = 8,           // worker → switch: cumulative, all results before seq are held
  nack = 9,          // switch → worker: refused, reason field and error extension say why
  abort = 10,        // switch → workers: the epoch is over, with missing ids or an error
  join = 11,         // worker → switch: rank and nonce
  start = 12,        // switch → workers: epoch, window, chunk size
  lease = 13,        // worker → switch: still here
  leave = 14,        // worker → switch: done
  // Named data (core/wire/data_name.h)
  put = 15,     // producer → switch → parent: a segment, to be kept under its name
  stored = 16,  // root → switch → producer: it is kept
  get = 17,     // reader → switch → parent or producer: send the segment of this name
  data = 18,    // the answer
  refuse = 19,  // the answer to either, reason field says why
};
inline constexpr std::uint8_t kPacketTypeMax = 19;
const char* name_of(PacketType type);

// Flag bits of the u32 `flags` field. Unknown bits in the high byte make a receiver drop
// the packet; unknown bits elsewhere are ignored.
enum Flag : std::uint32_t {
  kFlagAtPs = 1u << 0,
  kFlagResend = 1u << 1,
  kFlagCollision = 1u << 2,
  kFlagBypass = 1u << 3,
  kFlagPartial = 1u << 4,
  kFlagVerified = 1u << 5,
  kFlagOverflow = 1u << 6,
  kFlagFloatRetry = 1u << 7,
  kFlagDegraded = 1u << 8,
  kFlagRaw = 1u << 9,
  kFlagModular = 1u << 10,
  kFlagParams = 1u << 11,
  kFlagCe = 1u << 12,
  kFlagExcluded = 1u << 13,
  kFlagCompleteSubtree = 1u << 14,
  kFlagLast = 1u << 15,       // last chunk of its op
  kFlagFragments = 1u << 16,  // START: the switch takes IPv4 fragments, and may send them
};
inline constexpr std::uint32_t kFlagsMustUnderstand = 0xFF000000u;

// The data types: id, number on the wire, name for users, bytes per element. Enum, names and sizes
// come from this list; the C interface, the Scapy layer and docs/protocol.md are checked against
// it.
#define TRIBUTARY_DTYPES(X)     \
  X(int8, 1, "int8", 1)         \
  X(int16, 2, "int16", 2)       \
  X(int32, 3, "int32", 4)       \
  X(int64, 4, "int64", 8)       \
  X(uint8, 5, "uint8", 1)       \
  X(uint32, 6, "uint32", 4)     \
  X(uint64, 7, "uint64", 8)     \
  X(float16, 8, "float16", 2)   \
  X(bfloat16, 9, "bfloat16", 2) \
  X(float32, 10, "float32", 4)  \
  X(float64, 11, "float64", 8)  \
  X(boolean, 12, "bool", 1)

enum class DType : std::uint8_t {
  none = 0,  // no elements: barrier and control packets
#define X(id, number, name, bytes) id = (number),
  TRIBUTARY_DTYPES(X)
#undef X
};
// Bytes per element, indexed by number; the first entry is for none.
#define X(id, number, name, bytes) (bytes),
inline constexpr std::uint8_t kDTypeBytes[] = {0, TRIBUTARY_DTYPES(X)};
#undef X
inline constexpr std::uint8_t kDTypeMax = sizeof kDTypeBytes - 1;
// Bytes per element; 0 for none and unknown values.
constexpr std::size_t size_of(DType t) {
  const auto number = static_cast<std::uint8_t>(t);
  return number <= kDTypeMax ? kDTypeBytes[number] : 0;
}
const char* name_of(DType type);

// The reduce operations: id, number on the wire, name for users.
#define TRIBUTARY_REDUCE_OPS(X) \
  X(sum, 1, "sum")              \
  X(mean, 2, "mean")            \
  X(prod, 3, "prod")            \
  X(min, 4, "min")              \
  X(max, 5, "max")              \
  X(bit_and, 6, "band")         \
  X(bit_or, 7, "bor")           \
  X(bit_xor, 8, "bxor")         \
  X(logical_and, 9, "land")     \
  X(logical_or, 10, "lor")      \
  X(logical_xor, 11, "lxor")

enum class ReduceOp : std::uint8_t {
#define X(id, number, name) id = (number),
  TRIBUTARY_REDUCE_OPS(X)
#undef X
};
#define X(id, number, name) ReduceOp::id,
inline constexpr ReduceOp kReduceOps[] = {TRIBUTARY_REDUCE_OPS(X)};
#undef X
inline constexpr std::uint8_t kReduceOpMax = sizeof kReduceOps;
const char* name_of(ReduceOp op);
// Accept these names only; nullopt for any other text.
std::optional<DType> parse_dtype(std::string_view name);
std::optional<ReduceOp> parse_reduce_op(std::string_view name);

constexpr bool is_float(DType t) {
  return t == DType::float16 || t == DType::bfloat16 || t == DType::float32 || t == DType::float64;
}
constexpr bool is_integer(DType t) {
  return t >= DType::int8 && t <= DType::uint64;
}

// nullptr if this op can reduce elements of this type; otherwise a sentence that tells the caller
// why not.
constexpr const char* why_invalid(DType t, ReduceOp op) {
  const auto type_code = static_cast<std::uint8_t>(t);
  const auto op_code = static_cast<std::uint8_t>(op);
  if (type_code > kDTypeMax) return "unknown data type";
  if (op_code == 0 || op_code > kReduceOpMax) return "unknown reduce op";
  if (t == DType::none) return "there are no elements to reduce";
  const bool arithmetic = op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::prod;
  if (t == DType::boolean)
    return arithmetic ? "bool has no sum, mean or prod: use lor, or an integer type to count"
                      : nullptr;
  if (is_integer(t))
    return op == ReduceOp::mean
               ? "the mean of integers is not an integer: use sum, and divide at the worker"
               : nullptr;
  return arithmetic || op == ReduceOp::min || op == ReduceOp::max
             ? nullptr
             : "bitwise and logical operations need integers or bool";
}

// START tells workers how a job's sums are made, by these three settings.
enum class Partials : std::uint8_t {
  wide = 0,    // small types are accumulated, and travel between switches, as 4-byte types
  narrow = 1,  // every partial sum has the element's own type
};
enum class Order : std::uint8_t {
  fast = 0,          // as contributions arrive
  reproducible = 1,  // by rank: the same bits in every run
};
enum class Arithmetic : std::uint8_t {
  saturating = 0,  // integer overflow is reported
  modular = 1,     // integers wrap
};
// How a completion host's result reaches the workers (protocol, "Ways of notifying").
enum class Notify : std::uint8_t {
  root = 0,         // up to the root, and down from there
  host_switch = 1,  // also down from the switch that hosts the engine, at once
  direct = 2,       // also from the host to all workers, at once
};

// Bytes in which an element is accumulated.
constexpr std::size_t accumulator_bytes(DType t, ReduceOp op) {
  const bool grows = op == ReduceOp::sum || op == ReduceOp::mean || op == ReduceOp::prod;
  const bool small =
      t == DType::int8 || t == DType::uint8 || t == DType::float16 || t == DType::bfloat16;
  return grows && small ? 4 : size_of(t);
}
// Why a job with such partials cannot reduce these; nullptr if it can. Numbers outside the
// enumerations are invalid.
constexpr const char* why_invalid(DType t, ReduceOp op, Partials partials) {
  if (const char* const why = why_invalid(t, op)) return why;
  const bool narrows = partials == Partials::narrow && accumulator_bytes(t, op) != size_of(t);
  return op == ReduceOp::mean && narrows
             ? "a mean of 16-bit floats needs partials: wide, because narrow ones are rounded, and "
               "may overflow, before they are divided"
             : nullptr;
}
// Elements in every chunk of an op but the last (protocol rule 17). `reduces` is false if each
// chunk is sent by one rank alone.
constexpr std::uint32_t elements_per_chunk(std::uint32_t chunk_bytes, DType t, ReduceOp op,
                                           Partials partials, bool reduces) {
  const bool wide = reduces && partials == Partials::wide;
  const std::size_t bytes = wide ? accumulator_bytes(t, op) : size_of(t);
  return static_cast<std::uint32_t>(chunk_bytes / (bytes == 0 ? 1 : bytes));
}

enum class Encoding : std::uint8_t { plain = 0, block_scaled = 1, compressed = 2 };

enum class Collective : std::uint8_t {
  allreduce = 0,
  reduce = 1,
  broadcast = 2,
  all_gather = 3,
  reduce_scatter = 4,
  barrier = 5,
  // For a job whose parameter server holds the model (T21):
  open = 6,    // brings first values, gets the parameters that hold
  update = 7,  // brings gradients, gets the parameters after the optimizer's step
};
inline constexpr std::uint8_t kCollectiveMax = 7;
const char* name_of(Collective c);
// True if only the parameter server may give the result; no sum may stand for it.
constexpr bool concerns_model(Collective c) {
  return c == Collective::open || c == Collective::update;
}
// One rank's data goes to all; nothing is combined. Such an op begins with an agreement: a chunk
// without elements that every rank sends. Ranks that disagree about the op get an error, and no
// rank is done before all have begun.
constexpr bool moves_data(Collective c) {
  return c == Collective::broadcast || c == Collective::all_gather;
}
// The target of an `open` that asks for the model's step; other targets name an array.
inline constexpr std::uint16_t kModelStep = 0xFFFE;

// The `reason` field: of an escalation, a NACK or an ABORT.
enum class Reason : std::uint8_t {
  none = 0,
  // escalation
  deadline = 1,  // also ABORT: chunk deadline passed without a completion engine
  excluded = 2,
  collision = 3,
  resend = 4,
  overflow = 5,
  no_slot = 6,
  verify = 7,
  // NACK
  unknown_job = 16,
  not_joined = 17,
  stale_epoch = 18,
  bad_rank = 19,         // rank or child outside the job
  sender_mismatch = 20,  // rank is bound to another port or address
  job_size_mismatch = 21,
  aborted = 22,
  settings_mismatch = 23,  // two levels of a tree have different settings for a job
  planes_mismatch = 24,    // ... different numbers of planes, which the packet has
  open_refused = 25,       // a job that a rank would open does not fit; see core/wire/open_job.h
  other_task = 26,         // the job was opened with other task information, which the packet has
  other_run = 27,          // a rank of another run waits; the packet has its rank and address
  // ABORT
  lease_expired = 32,   // missing ids: the ranks that fell silent
  rank_left = 33,       // missing ids: the ranks that left while an op was open
  rank_restarted = 34,  // missing ids: the ranks that joined anew
  op_mismatch = 35,     // error extension: the contributions that differ
  shutdown = 36,        // the switch is stopping
  parent_lost = 37,     // the switch above fell silent, or was restarted
  host_lost = 38,       // no completion host of the job answers
  model_lost = 39,      // the completion host has no model that this update continues
  model_mismatch = 40,  // it has another one: other arrays, or at another place in a step
  // ABORT, and NACK to a switch's JOIN
  configuration_changed = 41,  // the job's tree has changed: join again
  // ABORT
  broken_invariant = 42,  // a defect of the sender: its state of the epoch is wrong
  // REFUSE
  names_off = 48,        // the switch, or the job, has no named data
  bad_name = 49,         // no name, or a malformed one, or a digest that is not the segment's
  foreign_name = 50,     // of another job than the packet
  not_allowed = 51,      // the sender may not give, or read, a value of this name
  name_taken = 52,       // other bytes have this name
  name_unknown = 53,     // no value has this name, or no node has it any more
  names_full = 54,       // the job's share of the table of names is used up
  names_busy = 55,       // too many requests wait for answers: ask again
  value_too_large = 56,  // a segment exceeds what the job's packets, or the cache, hold
};
const char* name_of(Reason r);

}  // namespace tributary::wire
