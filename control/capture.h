// `tributary capture` and `tributary trace`: a stream of frames to whoever asked on the control
// socket.
//
//   {"command":"capture","ports":["w0"],"points":["rx","drop"],"filter":"udp port 47000",
//    "count":100,"snap":256}
//   →  {"ok":true,"data":{"ports":["w0"]}} on a line, then a pcapng file until `count` frames have
//      come, the client closes its end, or the switch stops
//   {"command":"trace","ports":["w0"],"filter":"udp port 47000","count":10}
//   →  the same line, then lines of text: what became of `count` received frames
//
// All keys but the command may be left out, and the count of a trace: all ports, all points, no
// filter, no end, whole frames. One of them at a time, on a thread of its own. Frames come in the
// order of each lcore.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/capture.h"
#include "dataplane/switch.h"

namespace tributary::control {

struct CaptureRequest {
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
// What to copy. Throws std::invalid_argument: an unknown port, a filter that is not one.
dataplane::CaptureWish capture_wish(const CaptureRequest& request,
                                    const std::vector<std::string>& ports);

class CaptureServer {
 public:
  explicit CaptureServer(dataplane::Switch& sw);
  // Ends what runs; before the switch stops.
  ~CaptureServer();
  CaptureServer(const CaptureServer&) = delete;
  CaptureServer& operator=(const CaptureServer&) = delete;

  // A SocketServer's takeover.
  bool take(std::string_view line, int connection);

 private:
  class Session;
  dataplane::Switch& switch_;
  std::unique_ptr<Session> session_;
};

}  // namespace tributary::control
