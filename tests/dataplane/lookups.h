// What a program asks the machine's name service for, counted instead of asked: a program that is
// linked with lookups.cc finds no name. Addresses and ports that are numbers are understood as
// ever.
#pragma once

namespace tributary::dataplane {

// So many names were asked for until now; any thread.
unsigned lookups();

}  // namespace tributary::dataplane
