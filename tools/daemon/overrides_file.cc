#include "tools/daemon/overrides_file.h"

#include <exception>
#include <filesystem>

#include "config/text/file.h"
#include "tools/daemon/put_aside.h"
#include "tools/program/output_file.h"

namespace tributary::tools {

OverridesFile::Kept OverridesFile::load(bool put_aside) const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error)) return {};
  try {
    return {config::parse_overrides(config::read_file(path_)), ""};
  } catch (const config::YamlError& wrong) {
    const std::string line = "line " + std::to_string(wrong.mark().line) + ": " + wrong.what();
    return {{}, damage_of(path_, line, put_aside, "without overrides")};
  } catch (const std::exception& wrong) {
    return {{}, damage_of(path_, wrong.what(), false, "without overrides")};
  }
}

void OverridesFile::keep(const std::string& text) const {
  keep_file(path_,
            "# What `tributary set` has changed of the switch's own file; `tributary unset` "
            "takes it back.\n" +
                text);
}

}  // namespace tributary::tools
