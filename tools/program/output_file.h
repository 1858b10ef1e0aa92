// Files that a program writes because its user named them.
//
// A path that is a regular file, or nothing yet, is written whole or not at all: beside it first,
// then renamed, with the mode that it had. Anything else (a device, a pipe, a symbolic link) is
// opened and written where it stands: a rename would put a file in its place.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace tributary::tools {

// Writes the pieces one after the other. Throws std::runtime_error "PATH: cannot write: why".
void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces);
void write_file(const std::string& path, std::string_view text);
// The same for a small file that the program itself needs after a loss of power: text and name are
// on the disk when this returns, or the old file is.
void keep_file(const std::string& path, std::string_view text);

}  // namespace tributary::tools
