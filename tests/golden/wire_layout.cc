// describe_layout(): what docs/protocol.md's tables are compared with.
#include <cstddef>

#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "core/wire/types.h"
#include "tests/golden/wire_json.h"

namespace tributary::golden {
namespace {

using nlohmann::json;
using namespace tributary::wire;

json header_fields() {
  json fields = json::array();
#define FIELD(name) fields.push_back({#name, offsetof(HeaderV1, name), sizeof(HeaderV1::name)})
  FIELD(version);
  FIELD(type);
  FIELD(flags);
  FIELD(job);
  FIELD(epoch);
  FIELD(attempt);
  FIELD(seed_generation);
  FIELD(op);
  FIELD(chunk);
  FIELD(seq);
  FIELD(slot);
  FIELD(origin);
  FIELD(child);
  FIELD(fan_in);
  FIELD(covered);
  FIELD(dtype);
  FIELD(reduce_op);
  FIELD(element_count);
  FIELD(scale_exponent);
  FIELD(encoding);
  FIELD(collective_ttl);
  FIELD(shard);
  FIELD(plane_stream);
  FIELD(reason);
  FIELD(extension_words);
#undef FIELD
  return fields;
}

// Name → number of every value of a byte-sized enum that name_of() knows.
template <typename Enum>
json numbers() {
  json j = json::object();
  for (int i = 0; i < 256; ++i) {
    const std::string name = name_of(static_cast<Enum>(i));
    if (name != "?") j[name] = i;
  }
  return j;
}

json flags() {
  return {{"at-ps", kFlagAtPs},
          {"resend", kFlagResend},
          {"collision", kFlagCollision},
          {"bypass", kFlagBypass},
          {"partial", kFlagPartial},
          {"verified", kFlagVerified},
          {"overflow", kFlagOverflow},
          {"float-retry", kFlagFloatRetry},
          {"degraded", kFlagDegraded},
          {"raw", kFlagRaw},
          {"modular", kFlagModular},
          {"params", kFlagParams},
          {"ce", kFlagCe},
          {"excluded", kFlagExcluded},
          {"complete-subtree", kFlagCompleteSubtree},
          {"last", kFlagLast},
          {"fragments", kFlagFragments}};
}

json extension_types() {
  return {{"padding", ExtensionType::padding},
          {"missing-ids", ExtensionType::missing_ids},
          {"rank-bitmap", ExtensionType::rank_bitmap},
          {"task-information", ExtensionType::task_information},
          {"authentication", ExtensionType::authentication},
          {"crc32c", ExtensionType::crc32c},
          {"result-info", ExtensionType::result_info},
          {"degraded-list", ExtensionType::degraded_list},
          {"error", ExtensionType::error},
          {"target-rank", ExtensionType::target_rank},
          {"nonce", ExtensionType::nonce},
          {"start-info", ExtensionType::start_info},
          {"drain", ExtensionType::drain},
          {"name", ExtensionType::name},
          {"value-info", ExtensionType::value_info},
          {"open-job", ExtensionType::open_job},
          {"run-id", ExtensionType::run_id}};
}

json dtype_sizes() {
  json j = json::object();
  for (std::uint8_t i = 0; i <= kDTypeMax; ++i)
    j[name_of(static_cast<DType>(i))] = size_of(static_cast<DType>(i));
  return j;
}

}  // namespace

json describe_layout() {
  return {{"version", kVersion},
          {"header_bytes", kHeaderBytes},
          {"header", header_fields()},
          {"types", numbers<PacketType>()},
          {"flags", flags()},
          {"must_understand", kFlagsMustUnderstand},
          {"dtypes", numbers<DType>()},
          {"dtype_sizes", dtype_sizes()},
          {"reduce_ops", numbers<ReduceOp>()},
          {"collectives", numbers<Collective>()},
          {"reasons", numbers<Reason>()},
          {"encodings",
           {{"plain", Encoding::plain},
            {"block-scaled", Encoding::block_scaled},
            {"compressed", Encoding::compressed}}},
          {"extensions", extension_types()},
          {"extension_type_max", kExtensionTypeMax}};
}

}  // namespace tributary::golden
