// Several arrays treated as one, for an op on a list of arrays.
//
// Arrays that follow each other in memory are one already. Others are packed into the op's own
// memory by the thread that starts it, and unpacked by the progress thread before the op is done: a
// copy each way, at memory speed, for the cost of one op instead of many.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "worker/api/communicator.h"

namespace tributary::worker {

// How the op uses the arrays on this rank: reads them, writes them, or both.
struct ListAccess {
  bool read = true;
  bool written = true;
};
// Throws std::invalid_argument for a collective that takes no list.
ListAccess list_access(const CollectiveCall& call, std::uint32_t rank);

class ArrayList {
 public:
  ArrayList() = default;
  // Throws std::invalid_argument for a null pointer with elements.
  ArrayList(std::span<const ArrayPart> arrays, std::size_t element_bytes);

  [[nodiscard]] std::size_t count() const { return count_; }  // elements of all of them
  // The memory of the first array that has elements; null if none has any.
  [[nodiscard]] void* front() const { return front_; }
  [[nodiscard]] bool is_one() const { return is_one_; }
  // One array of all elements, valid until unpack(); has the arrays' contents if they are read.
  [[nodiscard]] void* pack(ListAccess access);
  // Copies it back to the arrays, if pack() made a copy that is written.
  void unpack();

 private:
  std::vector<ArrayPart> arrays_;  // those that have elements
  std::size_t element_bytes_ = 0;
  std::size_t count_ = 0;
  void* front_ = nullptr;
  bool is_one_ = true;
  bool written_ = false;
  std::unique_ptr<std::byte[]> packed_;
};

}  // namespace tributary::worker
