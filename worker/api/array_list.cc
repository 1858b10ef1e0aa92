#include "worker/api/array_list.h"

#include <cstring>
#include <stdexcept>
#include <string>

namespace tributary::worker {

ListAccess list_access(const CollectiveCall& call, std::uint32_t rank) {
  switch (call.collective) {
    case wire::Collective::allreduce: return {};
    case wire::Collective::reduce: return {true, rank == call.root};
    case wire::Collective::broadcast: return {rank == call.root, rank != call.root};
    default:
      throw std::invalid_argument(std::string(wire::name_of(call.collective)) +
                                  " of a list of arrays; allowed are allreduce, reduce and "
                                  "broadcast");
  }
}

ArrayList::ArrayList(std::span<const ArrayPart> arrays, std::size_t element_bytes)
    : element_bytes_(element_bytes) {
  arrays_.reserve(arrays.size());
  const std::byte* next = nullptr;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const ArrayPart& array = arrays[i];
    if (array.count == 0) continue;
    if (array.data == nullptr)
      throw std::invalid_argument("array " + std::to_string(i) + " of the list: data is null");
    const auto* const begin = static_cast<const std::byte*>(array.data);
    if (next != nullptr && begin != next) is_one_ = false;
    next = begin + array.count * element_bytes_;
    count_ += array.count;
    arrays_.push_back(array);
  }
  if (!arrays_.empty()) front_ = arrays_.front().data;
}

void* ArrayList::pack(ListAccess access) {
  if (is_one_) return front_;
  written_ = access.written;
  packed_ = std::make_unique_for_overwrite<std::byte[]>(count_ * element_bytes_);
  std::byte* to = packed_.get();
  for (const ArrayPart& array : arrays_) {
    if (!access.read) break;
    std::memcpy(to, array.data, array.count * element_bytes_);
    to += array.count * element_bytes_;
  }
  return packed_.get();
}

void ArrayList::unpack() {
  if (!packed_ || !written_) return;
  const std::byte* from = packed_.get();
  for (const ArrayPart& array : arrays_) {
    std::memcpy(array.data, from, array.count * element_bytes_);
    from += array.count * element_bytes_;
  }
}

}  // namespace tributary::worker
