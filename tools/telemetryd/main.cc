// tributary-telemetryd: the telemetry server. Receives reports of registered switches, keeps the
// record table, and serves it over HTTP.
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/cli/app.h"
#include "tools/daemon/daemon.h"
#include "tools/telemetryd/pages.h"

namespace tributary::telemetryd {
namespace {

struct Options {
  std::string listen = "127.0.0.1:32766";
  std::string http = "127.0.0.1:9476";
  std::vector<std::string> switches;
  std::uint16_t int_port = 5000;
  std::optional<std::uint32_t> dscp;
  int ready_fd = -1;
};

ReceiverOptions receiver_options(const Options& options) {
  ReceiverOptions out;
  out.listen = parse_endpoint("--listen", options.listen);
  for (const std::string& text : options.switches) register_switch(out.switches, text);
  out.marking.udp_port = options.int_port;
  if (options.dscp) out.marking.dscp = static_cast<std::uint8_t>(*options.dscp);
  return out;
}

int run(const Options& options) {
  try {
    const ReceiverOptions checked = receiver_options(options);
    parse_endpoint("--http", options.http);
    tools::Daemon daemon;
    const Receiver receiver(checked);
    const control::MetricsServer http(options.http, std::make_shared<ReceiverMetrics>(receiver),
                                      pages(receiver));
    std::printf("reports at UDP port %d of %zu switches, HTTP port %d\n", receiver.port(),
                checked.switches.size(), http.port());
    daemon.announce_ready(options.ready_fd);
    daemon.wait({{}, [&receiver] { return receiver.turns(); }});
    return 0;
  } catch (const std::invalid_argument& error) {
    tools::report(std::string("tributary-telemetryd: ") + error.what());
    return cli::kExitUsage;
  } catch (const std::exception& error) {
    tools::report(std::string("tributary-telemetryd: ") + error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tributary::telemetryd

int main(int argc, char** argv) {
  tributary::cli::App app("Tributary telemetry server: what each hop of the network adds",
                          "tributary-telemetryd");
  tributary::telemetryd::Options options;
  app.add_option("--listen", options.listen, "where reports come in, IPV4:PORT")
      ->capture_default_str();
  app.add_option("--http", options.http, "where /metrics, /links and /flows are, IPV4:PORT")
      ->capture_default_str();
  app.add_option("--switch", options.switches,
                 "NODE=IPV4: a switch whose reports are taken, and where they come from")
      ->required();
  app.add_option("--int-port", options.int_port, "UDP port that marks packets with telemetry")
      ->capture_default_str();
  app.add_option("--dscp", options.dscp, "DSCP that marks them instead")
      ->check(tributary::cli::range(std::uint32_t{0}, std::uint32_t{63}));
  app.add_ready_fd(options.ready_fd);
  app.set_version_flag("--version", std::string("tributary-telemetryd ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  return tributary::telemetryd::run(options);
}
