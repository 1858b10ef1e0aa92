#include "tools/client/manager/manager_options.h"

#include <cstdlib>
#include <string>

#include "tools/client/manager/manager_library.h"

namespace tributary::client {
namespace {

// Before the command line is read, and not by CLI11: its commands that were not typed would set
// what they share with the one that was.
void take_from_environment(const char* name, std::string& value) {
  const char* const set = std::getenv(name);
  if (set != nullptr && *set != '\0') value = set;
}

}  // namespace

void add_manager_options(cli::App& command, ManagerOptions& options) {
  manager::Target& target = options.target;
  take_from_environment("TRIBUTARY_MANAGER", target.address);
  take_from_environment("TRIBUTARY_TLS_CA", target.ca);
  take_from_environment("TRIBUTARY_TLS_CERT", target.certificate);
  take_from_environment("TRIBUTARY_TLS_KEY", target.key);
  command
      .add_option("--manager", target.address,
                  "unix:PATH or HOST:PORT of tributary-managerd, several with commas between; "
                  "or in TRIBUTARY_MANAGER. Tried for " +
                      std::to_string(kCallSeconds) + " s")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      .add_option("--tls-ca", target.ca,
                  "PEM of the manager's authority, for HOST:PORT; or in TRIBUTARY_TLS_CA")
      ->type_name("PATH");
  command
      .add_option("--tls-cert", target.certificate,
                  "PEM of the own certificate; or in TRIBUTARY_TLS_CERT")
      ->type_name("PATH");
  command.add_option("--tls-key", target.key, "PEM of its key; or in TRIBUTARY_TLS_KEY")
      ->type_name("PATH");
  command.add_flag("--json", options.json, "Print the answer as JSON");
}

}  // namespace tributary::client
