// `tributary trace`: what becomes of the next frames that a running switch receives.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/stream_end.h"
#include "tools/program/standard_output.h"

namespace tributary::client {
namespace {

struct TraceOptions {
  std::uint32_t count = 0;
  std::vector<std::string> ports;
  std::string filter;
  std::string socket = kDefaultSocket;
};

void trace(const TraceOptions& options) {
  Json request{{"command", "trace"}, {"count", options.count}};
  if (!options.ports.empty()) request["ports"] = options.ports;
  if (!options.filter.empty()) request["filter"] = options.filter;
  StreamEnd end;
  stream_from_switch(options.socket, request, [&](std::string_view bytes) {
    std::cout << bytes;
    tools::check_output();
    end.add(bytes);
  });
  if (const auto why = why_text_ended(end.bytes()))
    throw ControlError("the trace ended before it was complete: " + *why);
}

}  // namespace

void add_trace(cli::App& app) {
  auto options = std::make_shared<TraceOptions>();
  cli::App* command =
      app.add_subcommand("trace", "Show what becomes of the next frames that a switch receives");
  command->add_option("N", options->count, "How many of them")
      ->required()
      ->check(cli::positive_number());
  command->add_option("PORT", options->ports, "Ports to look at; none: all");
  command
      ->add_option("--filter", options->filter,
                   "Which frames: an expression of man pcap-filter, without names")
      ->type_name("EXPR");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->footer(
      "A line for each frame, with what was decided and, of a job's packet, the chunk's slot, "
      "state\n"
      "and children; then, indented, what was sent or dropped for its sake. Ports and filter "
      "choose\n"
      "what is sent, too. Ends after N frames, or at Ctrl-C.\n"
      "Examples:\n"
      "  tributary trace 10\n"
      "  tributary trace 20 w0 --filter 'udp port 47000'");
  command->callback([options] { trace(*options); });
}

}  // namespace tributary::client
