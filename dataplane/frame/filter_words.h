// Which filters of libpcap's language need nobody to be asked.
//
// pcap_compile() looks up what it takes for a name: `host` in DNS, `port` and `proto` in files or
// whatever else the machine's name service has, for as long as that takes. A compiled filter that
// has no names never waits. So every word has to be one of the language's own, a number or an
// address; what else there is might be a name to some version of libpcap, and is refused.
#pragma once

#include <optional>
#include <string_view>

namespace tributary::dataplane {

// Those of the language for Ethernet and what it carries, with spaces between them.
std::string_view filter_words();

// The first word of a filter that libpcap might look up; nullopt: there is none.
std::optional<std::string_view> looked_up(std::string_view filter);

}  // namespace tributary::dataplane
