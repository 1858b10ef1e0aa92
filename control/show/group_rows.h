// Rows of `show groups` as they come, a piece of the table at a time.
//
// A group that goes and comes again in between may be at another place, and come up again: of both
// rows the later one is right. Control threads.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dataplane/frame/mac_key.h"
#include "dataplane/multicast/group_table.h"

namespace tributary::control {

class GroupRows {
 public:
  void add(const dataplane::GroupRow& row) {
    const auto [known, is_new] =
        place_of_.try_emplace(dataplane::mac_key(row.group, row.vlan), rows_.size());
    if (is_new)
      rows_.push_back(row);
    else
      rows_[known->second] = row;
  }
  // A row for each group of a VLAN, in the order in which they came first.
  [[nodiscard]] const std::vector<dataplane::GroupRow>& all() const { return rows_; }

 private:
  std::vector<dataplane::GroupRow> rows_;
  std::unordered_map<std::uint64_t, std::size_t> place_of_;
};

}  // namespace tributary::control
