// `tributary capture`: frames of a running switch, as a pcapng file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tools/client/commands.h"
#include "tools/client/control/control_client.h"
#include "tools/client/control/stream_end.h"

namespace tributary::client {
namespace {

struct CaptureOptions {
  std::vector<std::string> ports;
  std::vector<std::string> points;
  std::string filter;
  std::uint32_t count = 0;
  std::uint32_t snap = 0;
  std::string path;
  bool end = false;
  std::string socket = kDefaultSocket;
};

class Output {
 public:
  explicit Output(const std::string& path) : path_(path) {
    if (path == "-") return;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd_ < 0) fail("cannot open");
    // An older file may be readable to others.
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail("cannot open");
    if (S_ISREG(status.st_mode) && ::fchmod(fd_, 0600) != 0)
      fail("cannot make readable to its owner alone");
  }
  ~Output() {
    if (fd_ != STDOUT_FILENO) ::close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot write to");
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw ControlError(what + " " + (path_ == "-" ? "standard output" : path_) + ": " +
                       std::strerror(errno));
  }
  std::string path_;
  int fd_ = STDOUT_FILENO;
};

void capture(const CaptureOptions& options) {
  Json request{{"command", "capture"}};
  if (!options.ports.empty()) request["ports"] = options.ports;
  if (!options.points.empty()) request["points"] = options.points;
  if (!options.filter.empty()) request["filter"] = options.filter;
  if (options.count != 0) request["count"] = options.count;
  if (options.snap != 0) request["snap"] = options.snap;
  StreamEnd end;
  std::unique_ptr<Output> output;  // an older file stays when the switch refuses
  stream_from_switch(options.socket, request, [&](std::string_view bytes) {
    if (!output) output = std::make_unique<Output>(options.path);
    output->write(bytes);
    end.add(bytes);
  });
  if (const auto why = why_file_ended(end.bytes()))
    throw ControlError("the capture ended before you ended it: " + *why);
}

void end_capture(const CaptureOptions& options) {
  const Json data = ask_switch(options.socket, Json{{"command", "capture"}, {"end", true}});
  const bool told = data.is_object() && data.contains("ended") && data["ended"].is_string();
  std::cout << "ended the " << (told ? data["ended"].get<std::string>() : "capture") << '\n';
}

// The parser's own exclusion would say so in the help of every option.
void check_end_alone(const cli::App& command) {
  for (const char* other : {"PORT", "--point", "--filter", "--count", "--snap", "--write"})
    if (command.count(other) != 0) throw cli::UsageError(std::string("--end excludes ") + other);
}

}  // namespace

void add_capture(cli::App& app) {
  auto options = std::make_shared<CaptureOptions>();
  cli::App* command = app.add_subcommand(
      "capture", "Write what a running switch receives, sends or drops to a file");
  command->add_option("PORT", options->ports, "Ports to listen on; none: all");
  command->add_option("--point", options->points, "Where: any of rx, tx, drop. Left out: all three")
      ->delimiter(',')
      ->check(cli::is_member({"rx", "tx", "drop"}));
  command
      ->add_option("--filter", options->filter,
                   "Which frames: an expression of man pcap-filter, without names")
      ->type_name("EXPR");
  command->add_option("--count", options->count, "Ends after so many frames")
      ->check(cli::positive_number())
      ->type_name("N");
  command->add_option("--snap", options->snap, "Bytes kept of each frame. Left out: all")
      ->check(cli::range(1, 16384))
      ->type_name("BYTES");
  command
      ->add_option("--write,-w", options->path,
                   "The file, pcapng; - is standard output. Needed, but for --end")
      ->type_name("FILE");
  command->add_option("--socket", options->socket, "Control socket of the switch")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_flag("--end", options->end,
                    "Only end the running capture or trace, whichever client has it");
  command->footer(
      "Ends at Ctrl-C. A dropped frame carries the reason as its comment. A tx frame is one that\n"
      "was given to the port's queue. The file's last block counts frames that found no room.\n"
      "One capture or trace runs at a time; another takes its place if its reader has stopped\n"
      "reading. One that another client has ended fails, and names its process.\n"
      "Examples:\n"
      "  tributary capture -w all.pcapng\n"
      "  tributary capture w0 --point rx,drop --filter 'udp port 47000' --count 100 -w w0.pcapng\n"
      "  tributary capture --point drop -w - | tshark -r -\n"
      "  tributary capture --end");
  command->callback([options, command] {
    if (options->end) {
      check_end_alone(*command);
      return end_capture(*options);
    }
    if (options->path.empty()) throw cli::UsageError("--write is required");
    capture(*options);
  });
}

}  // namespace tributary::client
