// NumPy's .npy files (format versions 1 and 2), for arrays of numbers and bool in C order.
//
//   "\x93NUMPY" major minor | header length u16 (v1) or u32 (v2), little-endian | header | data
//
// The header is a Python dictionary with 'descr', 'fortran_order' and 'shape'. Source: numpy.org,
// "numpy.lib.format". Files come from anywhere: lengths are checked against the bytes that are
// there before anything is sized by them.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/wire/types.h"

namespace tributary::client {

struct NpyArray {
  wire::DType dtype = wire::DType::float32;
  std::vector<std::size_t> shape;  // empty: one element, no dimension
  std::vector<std::byte> data;     // little-endian, C order

  [[nodiscard]] std::size_t count() const { return data.size() / wire::size_of(dtype); }
};

class NpyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws NpyError, which says what is wrong and what is allowed.
NpyArray parse_npy(std::span<const std::byte> file);
// Everything before the data, version 1, padded so that the data starts at a multiple of 64.
std::string npy_header(const NpyArray& array);
// "(2, 3)"
std::string shape_text(const std::vector<std::size_t>& shape);

// The same with files; errors name the path. Writing is that of tools/program/output_file.h.
NpyArray read_npy(const std::string& path);
void write_npy(const std::string& path, const NpyArray& array);

}  // namespace tributary::client
