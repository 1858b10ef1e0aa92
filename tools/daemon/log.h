// The log of a daemon: one line an event on standard error, in the form that its reader expects.
//
//   journald            <4>port w0: ...                 the level, as sd-daemon(3) has it
//   a file, a terminal  port w0: ...
//   --log-format json   {"time":"...","level":"warning","text":"port w0: ..."}
//
// set_log() comes before other threads begin; write_log() may be called by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/log_level.h"

namespace tributary::tools {

enum class LogFormat { text, json };

struct LogOptions {
  LogLevel least = LogLevel::info;  // less important lines are left out
  LogFormat format = LogFormat::text;
};

void set_log(const LogOptions& options);
// Each line of `text` becomes one of the log, those after the first with an indent: none of them
// can pass for a line of its own. Other control characters are written as '?'.
void write_log(LogLevel level, const std::string& text);
// The text's lines, without their ends and without an empty last one.
std::vector<std::string> lines_of(const std::string& text);
// The line without its end, in each form; `time` in milliseconds since 1970, UTC.
std::string log_line(LogFormat format, bool for_journal, LogLevel level, const std::string& line,
                     std::int64_t time_ms);

}  // namespace tributary::tools
