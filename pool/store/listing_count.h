// Counts what one listing brings: a store may name objects and folders without end, and a tree with
// links has more paths than files.
#pragma once

#include <cstdint>
#include <string>

#include "pool/store/store_error.h"

namespace tributary::pool {

// The memory that a listing takes follows from the entries, its time from the folders: WebHDFS is
// asked once for each.
struct ListingLimits {
  std::uint64_t entries = 50'000'000;  // objects, and what is left out
  std::uint64_t folders = 1'000'000;
};

class ListingCount {
 public:
  explicit ListingCount(const ListingLimits& limits) : limits_(limits) {}

  // `where`: the address for the error. Both throw StoreError for one too many.
  void add_entry(const std::string& where) { add(entries_, limits_.entries, "entries", where); }
  void add_folder(const std::string& where) { add(folders_, limits_.folders, "folders", where); }

 private:
  static void add(std::uint64_t& count, std::uint64_t most, const char* what,
                  const std::string& where) {
    if (++count <= most) return;
    throw StoreError(StoreFault::refused, where + ": the listing goes beyond " +
                                              std::to_string(most) + " " + what +
                                              "; allowed: so many in a store");
  }

  const ListingLimits limits_;
  std::uint64_t entries_ = 0;
  std::uint64_t folders_ = 0;
};

}  // namespace tributary::pool
