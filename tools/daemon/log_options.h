// --log-level and --log-format of a daemon's command line.
#pragma once

#include <string>

#include "tools/cli/app.h"
#include "tools/daemon/log.h"

namespace tributary::tools {

struct LogWords {
  std::string level = "info";
  std::string format = "text";
};

// `words` outlives the parsing.
inline void add_log_options(cli::App& app, LogWords& words) {
  app.add_option("--log-level", words.level, "leave out lines that are less important")
      ->check(cli::is_member({"error", "warning", "notice", "info"}));
  app.add_option("--log-format", words.format, "format of the log on standard error")
      ->check(cli::is_member({"text", "json"}));
}

inline void set_log(const LogWords& words) {
  set_log(LogOptions{*parse_log_level(words.level),
                     words.format == "json" ? LogFormat::json : LogFormat::text});
}

}  // namespace tributary::tools
