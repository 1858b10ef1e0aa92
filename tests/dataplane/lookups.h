// Counts a program's questions to the machine's name service, instead of asking it: a program that
// is linked with lookups.cc finds no name. Addresses and ports that are numbers are understood as
// ever.
#pragma once

namespace tributary::dataplane {

// So many names were asked for until now; any thread.
unsigned lookups();

}  // namespace tributary::dataplane
