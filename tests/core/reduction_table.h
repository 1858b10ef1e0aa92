// The reduce ops of each data type, written by hand from the protocol's text; which are refused,
// and for which reason. Tests of configuration, switch and worker compare with it.
#pragma once

#include <cstdint>
#include <iterator>

#include "core/wire/types.h"

namespace tributary::wire {

// A letter for each op, in the order of ReduceOp:
//   y  valid
//   w  valid where partials are wide
//   b  there is no arithmetic of bools
//   i  the mean of integers is none
//   l  there is no logic of floats
struct ReductionRow {
  DType dtype;
  const char* name;
  //  sum mean prod min max band bor bxor land lor lxor
  const char* ops;
};
inline constexpr ReductionRow kReductionTable[] = {
    {DType::int8, "int8", "yiyyyyyyyyy"},         {DType::int16, "int16", "yiyyyyyyyyy"},
    {DType::int32, "int32", "yiyyyyyyyyy"},       {DType::int64, "int64", "yiyyyyyyyyy"},
    {DType::uint8, "uint8", "yiyyyyyyyyy"},       {DType::uint32, "uint32", "yiyyyyyyyyy"},
    {DType::uint64, "uint64", "yiyyyyyyyyy"},     {DType::float16, "float16", "ywyyyllllll"},
    {DType::bfloat16, "bfloat16", "ywyyyllllll"}, {DType::float32, "float32", "yyyyyllllll"},
    {DType::float64, "float64", "yyyyyllllll"},   {DType::boolean, "bool", "bbbyyyyyyyy"},
};
inline constexpr const char* kOpNames[] = {"sum", "mean", "prod", "min", "max", "band",
                                           "bor", "bxor", "land", "lor", "lxor"};
static_assert(std::size(kReductionTable) == kDTypeMax && std::size(kOpNames) == kReduceOpMax);

// Calls f(type, its name, op, its name, what a refusal has to say; nullptr: it is valid) for all.
template <typename F>
void for_each_reduction(Partials partials, F f) {
  for (const ReductionRow& row : kReductionTable)
    for (std::uint8_t op = 0; op < kReduceOpMax; ++op) {
      const char* why = nullptr;
      switch (row.ops[op]) {
        case 'b': why = "bool has no sum, mean or prod"; break;
        case 'i': why = "the mean of integers is not an integer"; break;
        case 'l': why = "bitwise and logical operations need integers or bool"; break;
        case 'w':
          if (partials == Partials::narrow) why = "a mean of 16-bit floats needs partials: wide";
          break;
        default: break;
      }
      f(row.dtype, row.name, static_cast<ReduceOp>(op + 1), kOpNames[op], why);
    }
}

}  // namespace tributary::wire
