#include "tools/client/doctor/finding.h"

#include <algorithm>

namespace tributary::client {

const char* name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok: return "ok";
    case Finding::Level::warning: return "warning";
    case Finding::Level::error: return "error";
  }
  return "?";
}

std::string text_of(const Findings& findings) {
  std::string text;
  for (const Finding& f : findings) {
    std::string level = name_of(f.level);
    level.resize(9, ' ');
    text += level + f.subject + ": " + f.state + "\n";
    if (!f.remedy.empty()) text += "         -> " + f.remedy + "\n";
  }
  return text;
}

bool has_errors(const Findings& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.level == Finding::Level::error; });
}

}  // namespace tributary::client
