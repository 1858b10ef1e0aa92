#include "worker/mpi/shim/mpi_types.h"

#include <array>

namespace tributary::mpi {
namespace {

using wire::DType;
using wire::ReduceOp;

// Handles are integers in one MPI and pointers in the other.
std::uint64_t number_of(MPI_Datatype type) {
  return (std::uintptr_t)type;  // NOLINT: no C++ cast is for both
}

// Open addressing; at most a quarter full.
class TypeTable {
 public:
  void add(MPI_Datatype handle, DType dtype, std::uint32_t parts = 1) {
    if (handle == MPI_DATATYPE_NULL) return;
    std::size_t at = start(handle);
    while (entries_[at].used && entries_[at].handle != handle) at = (at + 1) % kSize;
    entries_[at] = {handle, {dtype, parts}, true};
  }
  [[nodiscard]] const ElementType* find(MPI_Datatype handle) const {
    for (std::size_t at = start(handle); entries_[at].used; at = (at + 1) % kSize)
      if (entries_[at].handle == handle) return &entries_[at].type;
    return nullptr;
  }

 private:
  static constexpr std::size_t kSize = 256;
  struct Entry {
    MPI_Datatype handle{};
    ElementType type;
    bool used = false;
  };
  static std::size_t start(MPI_Datatype handle) {
    return static_cast<std::size_t>((number_of(handle) * 0x9E3779B97F4A7C15u) >> 56) % kSize;
  }
  std::array<Entry, kSize> entries_{};
};

constinit TypeTable types;

DType signed_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return DType::int8;
    case 2: return DType::int16;
    case 4: return DType::int32;
    default: return DType::int64;
  }
}

// The switch has no 16-bit unsigned integers: returns none for them.
DType unsigned_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return DType::uint8;
    case 4: return DType::uint32;
    case 8: return DType::uint64;
    default: return DType::none;
  }
}

void add_integers(TypeTable& t) {
  for (const MPI_Datatype type :
       {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT16_T,
        MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INTEGER}) {
    int bytes = 0;
    real().Type_size(type, &bytes);
    t.add(type, signed_of(static_cast<std::size_t>(bytes)));
  }
  for (const MPI_Datatype type :
       {MPI_UNSIGNED_CHAR, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
        MPI_UINT32_T, MPI_UINT64_T, MPI_BYTE}) {
    int bytes = 0;
    real().Type_size(type, &bytes);
    t.add(type, unsigned_of(static_cast<std::size_t>(bytes)));
  }
}

// Fortran's types with explicit sizes, if this MPI was built with them.
void add_fortran(TypeTable& t) {
  const auto add = [&t](MPI_Datatype type, std::size_t bytes, DType dtype, std::uint32_t parts) {
    int size = 0;
    if (type == MPI_DATATYPE_NULL || real().Type_size(type, &size) != MPI_SUCCESS) return;
    if (static_cast<std::size_t>(size) == bytes) t.add(type, dtype, parts);
  };
  add(MPI_INTEGER1, 1, DType::int8, 1);
  add(MPI_INTEGER2, 2, DType::int16, 1);
  add(MPI_INTEGER4, 4, DType::int32, 1);
  add(MPI_INTEGER8, 8, DType::int64, 1);
  add(MPI_REAL, 4, DType::float32, 1);
  add(MPI_REAL4, 4, DType::float32, 1);
  add(MPI_REAL8, 8, DType::float64, 1);
  add(MPI_DOUBLE_PRECISION, 8, DType::float64, 1);
  add(MPI_COMPLEX, 8, DType::float32, 2);
  add(MPI_COMPLEX8, 8, DType::float32, 2);
  add(MPI_COMPLEX16, 16, DType::float64, 2);
  add(MPI_DOUBLE_COMPLEX, 16, DType::float64, 2);
}

}  // namespace

void learn_types() {
  TypeTable& t = types;
  add_integers(t);
  t.add(MPI_FLOAT, DType::float32);
  t.add(MPI_DOUBLE, DType::float64);
  t.add(MPI_C_FLOAT_COMPLEX, DType::float32, 2);
  t.add(MPI_C_DOUBLE_COMPLEX, DType::float64, 2);
  t.add(MPI_C_BOOL, DType::boolean);
  add_fortran(t);
}

const ElementType* find_type(MPI_Datatype type) {
  const ElementType* const found = types.find(type);
  return found == nullptr || found->dtype == DType::none ? nullptr : found;
}

std::optional<ReduceOp> find_op(MPI_Op op) {
  if (op == MPI_SUM) return ReduceOp::sum;
  if (op == MPI_MAX) return ReduceOp::max;
  if (op == MPI_MIN) return ReduceOp::min;
  if (op == MPI_PROD) return ReduceOp::prod;
  if (op == MPI_BAND) return ReduceOp::bit_and;
  if (op == MPI_BOR) return ReduceOp::bit_or;
  if (op == MPI_BXOR) return ReduceOp::bit_xor;
  if (op == MPI_LAND) return ReduceOp::logical_and;
  if (op == MPI_LOR) return ReduceOp::logical_or;
  if (op == MPI_LXOR) return ReduceOp::logical_xor;
  return std::nullopt;
}

const char* why_not(const ElementType& type, ReduceOp op) {
  if (type.parts == 2 && op != ReduceOp::sum) return "complex numbers have only sums";
  return wire::why_invalid(type.dtype, op);
}

}  // namespace tributary::mpi
