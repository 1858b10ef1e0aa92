// Properties of both kinds of files that are read by the same machinery, configurations and
// scenarios: a mistake is reported inside the file, and an accepted file survives being written.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "config/text/error.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {

inline constexpr const char* kFileName = "input.yaml";

inline void check_errors(const config::ConfigErrors& errors, std::string_view text) {
  FUZZ_CHECK(!errors.errors().empty());
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  // The YAML library counts other line ends too.
  const auto most = lines + std::count(text.begin(), text.end(), '\r') + 1;
  int before = 0;
  for (const auto& error : errors.errors()) {
    FUZZ_CHECK(error.file == kFileName && !error.message.empty());
    FUZZ_CHECK(error.line >= before && error.line <= most);
    FUZZ_CHECK(error.column >= 0);
    before = error.line;
    // One line that fits a terminal, whatever the file has.
    const std::string shown = error.to_string();
    FUZZ_CHECK(
        std::all_of(shown.begin(), shown.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

// parse(text) or nothing; write(value) must parse again and then be written the same.
template <typename Parse, typename Write>
auto check_yaml(std::string_view text, Parse parse, Write write)
    -> std::optional<decltype(parse(text, kFileName))> {
  std::optional<decltype(parse(text, kFileName))> value;
  try {
    value = parse(text, kFileName);
  } catch (const config::ConfigErrors& errors) {
    check_errors(errors, text);
    return std::nullopt;
  }
  const std::string written = write(*value);
  const auto again = parse(written, kFileName);
  FUZZ_CHECK(write(again) == written);
  return value;
}

}  // namespace tributary::fuzz
