// The command line of tributary-impair, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "tools/impair/first_loss.h"
#include "tools/impair/impairment.h"

namespace tributary::impair {

struct Options {
  std::string devargs_a;
  std::string devargs_b;
  ImpairmentConfig impairment;                // of both directions
  std::vector<FirstLossConfig> first_losses;  // the same
  std::uint64_t seed = 1;
  std::string delay_file;       // read at SIGHUP; empty: none
  bool wait_for_links = false;  // so that no packet of a capture file is lost at the start
};

// "1%", "0.05%" or "0" to parts per million; nullopt if it is not a share of 0 % to 100 %.
std::optional<std::uint32_t> parse_ppm(const std::string& text);
// "250us", "1.5ms", "2s" or "0"; nullopt if it is not a time of 0 to 60 s.
std::optional<Duration> parse_duration(const std::string& text);

// The delay in a file, on its first line; a file that is not there means `otherwise`. Throws
// std::runtime_error with what is wrong.
Duration read_delay(const std::string& file, Duration otherwise);

// "aggregate", or "aggregate:7" for those of job 7 alone; nullopt if it is neither.
std::optional<FirstLossConfig> parse_first_loss(const std::string& text);

// Fills `options`. A value: exit with that status now (help was shown, or the error was printed).
std::optional<int> parse_options(int argc, const char* const* argv, Options& options);

}  // namespace tributary::impair
