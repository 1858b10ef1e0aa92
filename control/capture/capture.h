// `tributary capture` and `tributary trace`: a stream of frames to a client of the control socket.
//
//   {"command":"capture","ports":["w0"],"points":["rx","drop"],"filter":"udp port 47000",
//    "count":100,"snap":256}
//   →  {"ok":true,"data":{"ports":["w0"]}} on a line, then a pcapng file until `count` frames have
//      come, the client closes its end, or the switch stops
//   {"command":"trace","ports":["w0"],"filter":"udp port 47000","count":10}
//   →  the same line, then lines of text: what the switch did with `count` received frames
//   {"command":"capture","end":true}
//   →  {"ok":true,"data":{"ended":"capture of process 4711"}}
//
// All keys but the command may be left out, and the count of a trace: all ports, all points, no
// filter, no end, whole frames. One of them at a time, on a thread of its own. It goes on until its
// reader closes, a client asks for its end, or another client wants to capture and the reader has
// left no room for kPatience. Frames come in the order of each lcore.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/io/capture.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

struct CaptureRequest {
  bool end = false;                // of the one that runs; nothing else counts
  bool trace = false;              // of which `count` counts decisions; else frames
  std::vector<std::string> ports;  // empty: all
  bool rx = true;
  bool tx = true;
  bool drop = true;
  std::string filter;
  std::uint32_t count = 0;  // 0: no end
  std::uint32_t snap = dataplane::CaptureWish::kMostSnap;
};

// nullopt: the line asks for something else. Throws std::invalid_argument.
std::optional<CaptureRequest> capture_request(std::string_view line);
// The taps' settings. Throws std::invalid_argument: an unknown port, an invalid filter.
dataplane::CaptureWish capture_wish(const CaptureRequest& request,
                                    const std::vector<std::string>& ports);

class CaptureServer {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  // `report` is told, on the thread of take(), of each session that another client ends.
  CaptureServer(dataplane::Switch& sw, std::function<void(const std::string&)> report,
                std::chrono::nanoseconds patience = kPatience);
  // Ends what runs; before the switch stops.
  ~CaptureServer();
  CaptureServer(const CaptureServer&) = delete;
  CaptureServer& operator=(const CaptureServer&) = delete;

  // A SocketServer's takeover.
  bool take(std::string_view line, int connection);

 private:
  class Session;
  // Ends the running session for another client, and returns its name.
  std::string end_session(const std::string& why);
  // So that another one can begin. Throws std::invalid_argument: it has to wait.
  void make_way(int newcomer);

  dataplane::Switch& switch_;
  std::function<void(const std::string&)> report_;
  std::chrono::nanoseconds patience_;
  std::unique_ptr<Session> session_;
};

}  // namespace tributary::control
