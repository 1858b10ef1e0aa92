#include "worker/transport/address_list.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace tributary::worker {

std::vector<std::string> split_addresses(const std::string& list) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(
        "address \"" + list + "\": " + why + "; allowed: one address, or up to " +
        std::to_string(kMostSwitches) + " different ones separated by commas");
  };
  std::vector<std::string> addresses;
  std::string scheme;
  std::string_view rest = list;
  while (true) {
    const std::size_t comma = rest.find(',');
    std::string entry(rest.substr(0, comma));
    if (const std::size_t end = entry.find("://"); end != std::string::npos)
      scheme = entry.substr(0, end + 3);
    else if (!entry.empty())
      entry.insert(0, scheme);
    if (entry.empty()) refuse("an entry is empty");
    if (std::find(addresses.begin(), addresses.end(), entry) != addresses.end())
      refuse(entry + " appears twice");
    addresses.push_back(std::move(entry));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (addresses.size() > kMostSwitches)
    refuse("it has " + std::to_string(addresses.size()) + " entries");
  return addresses;
}

}  // namespace tributary::worker
