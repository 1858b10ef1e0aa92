// Arguments of the C interface, before any socket is opened: nothing but a status comes back, the
// thread's last error says why, and outputs are untouched or null.
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"
#include "worker/api/tributary.h"

namespace tributary::fuzz {
namespace {

double draw_double(Input& in) {
  double value = 0;
  const std::uint64_t bits = in.u64();
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void check_refused(tributary_status status) {
  FUZZ_CHECK(status == TRIBUTARY_INVALID_ARGUMENT);
  FUZZ_CHECK(std::strlen(tributary_last_error()) > 0);
  std::vector<std::uint32_t> ranks(1);
  FUZZ_CHECK(tributary_last_error_ranks(ranks.data(), ranks.size()) == 0);
  FUZZ_CHECK(tributary_last_error_ranks(nullptr, 0) == 0);
}

void check_create(Input& in) {
  tributary_options o;
  tributary_options_init(&o);
  if (in.flag()) o.struct_size = in.u8();
  o.job = in.u32();
  o.rank = in.u32();
  o.size = in.u32();
  if (in.flag()) o.join_timeout_seconds = draw_double(in);
  if (in.flag()) o.op_timeout_seconds = draw_double(in);
  const bool null_output = in.below(8) == 0;
  const bool null_address = in.below(8) == 0;
  const auto bytes = in.bytes(in.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // A scheme that exists would open sockets and look for a switch.
  std::string address;
  if (text.starts_with("udp://") || text.starts_with("memif://")) address = "no-";
  address.append(text);
  o.address = null_address ? nullptr : address.c_str();
  auto* const untouched = reinterpret_cast<tributary_communicator*>(&o);
  tributary_communicator* out = untouched;
  check_refused(tributary_create(&o, null_output ? nullptr : &out));
  FUZZ_CHECK(null_output ? out == untouched : out == nullptr);
}

void check_null_handles(Input& in) {
  std::uint32_t value = in.u32();
  const tributary_dtype dtype = in.flag() ? TRIBUTARY_FLOAT32 : TRIBUTARY_INT32;
  const tributary_reduce_op op = TRIBUTARY_SUM;
  const std::size_t count = in.u64();
  tributary_request* request = nullptr;
  check_refused(tributary_allreduce(nullptr, &value, count, dtype, op));
  check_refused(tributary_allreduce_async(nullptr, &value, count, dtype, op, &request));
  check_refused(tributary_allreduce_async(nullptr, &value, count, dtype, op, nullptr));
  tributary_call call{};
  call.struct_size = in.flag() ? sizeof call : in.u8();
  check_refused(tributary_start(nullptr, &call, &request));
  check_refused(tributary_start(nullptr, nullptr, nullptr));
  FUZZ_CHECK(request == nullptr);
  check_refused(tributary_barrier(nullptr));
  check_refused(tributary_wait(nullptr));
  check_refused(tributary_wait_for(nullptr, draw_double(in)));
  check_refused(tributary_get_stats(nullptr, nullptr));
  tributary_communicator* out = nullptr;
  check_refused(tributary_create(nullptr, &out));
  FUZZ_CHECK(tributary_done(nullptr) == 1);
  FUZZ_CHECK(tributary_rank(nullptr) == 0 && tributary_size(nullptr) == 0);
  tributary_options_init(nullptr);
  tributary_request_free(nullptr);
  tributary_destroy(nullptr);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::check_null_handles(in);
  tributary::fuzz::check_create(in);
  return 0;
}
