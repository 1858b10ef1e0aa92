#include "dataplane/switch/drop_watch.h"

namespace tributary::dataplane {
namespace {

const char* meaning_of(DropReason reason) {
  if (reason == DropReason::own_address)
    return " frame(s) came with the switch's own address as their source: another host has that "
           "address or forges it, or there is a loop (drop reason own-address)";
  return " packet(s) had an unfinished UDP checksum: the sender's kernel left it to an interface "
         "that does not compute it; on the sender: ethtool -K INTERFACE tx off (drop reason "
         "checksum-offloaded)";
}

}  // namespace

std::optional<std::string> DropWatch::look(std::size_t place, std::size_t which,
                                           const std::string& port, std::uint64_t count,
                                           Instant now) {
  Told& told = told_[place][which];
  if (count < told.count) told = {};  // another port has the place
  if (count == told.count || (told.at && now - *told.at < kQuiet)) return std::nullopt;
  const std::uint64_t fresh = count - told.count;
  told = {count, now};
  return "port " + port + ": " + std::to_string(fresh) + meaning_of(kReasons[which]);
}

}  // namespace tributary::dataplane
