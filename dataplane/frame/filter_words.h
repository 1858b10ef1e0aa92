// Rejects capture filters that would trigger a name lookup in libpcap.
//
// pcap_compile() looks up words that it takes for names: `host` in DNS, `port` and `proto` in files
// or other sources of the machine's name service, for as long as that takes. A filter without names
// never waits. So every word has to be one of the language's own, a number or an address; any other
// word might be a name to some version of libpcap, and is refused.
#pragma once

#include <optional>
#include <string_view>

namespace tributary::dataplane {

// The language's words for Ethernet and what it carries, with spaces between them.
std::string_view filter_words();

// The first word of a filter that libpcap might look up; nullopt: there is none.
std::optional<std::string_view> looked_up(std::string_view filter);

}  // namespace tributary::dataplane
