// Has switches send declared destinations along the best path, through their control sockets, as
// `tributary set switches.NAME.ports.PORT.paths` does.
//
//   decided ─▶ no cycle in the old and the new path together ─▶ the switches of the new path would
//   take it (asked without a change) ─▶ all others ─▶ the path's, downstream first ─▶ a look later,
//   when the old path is empty: what else has it pinned, upstream first
//
// Each switch hears all changes at once, with the path's other pins, which it may have lost, and
// looks for loops by itself. What one of the path's
// switches refuses before the first change leaves the old path in force; afterwards, and where a
// switch has lost its paths, as after a restart, they are told again at each look. Others' paths of
// the same ports stay. One thread.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/telemetryd/path_watch.h"
#include "tools/telemetryd/switch_pins.h"

namespace tributary::telemetryd {

class PathSetter {
 public:
  // Sends a request to a control socket; returns the reply's data, and throws std::runtime_error.
  using Ask = std::function<nlohmann::ordered_json(const std::string& socket,
                                                   const nlohmann::ordered_json& request)>;
  using Report = std::function<void(const std::string& line)>;

  PathSetter(const NetworkFile& file, PathWatch& paths, Ask ask, Report report);

  // Asks all switches for their paths: those in force when the server starts are followed, and
  // what is not as decided is set.
  void look();
  void carry_out(const PathWatch::PathOrder& order);

 private:
  struct Wanted {
    std::vector<std::size_t> links;
    std::vector<std::size_t> before;  // the path that was left
    bool is_new = false;              // frames may be on the old path
  };

  void read_all();
  void adopt(std::size_t path);
  void keep(std::size_t path);
  // Returns whether the path is whole; throws std::runtime_error. `begun`: some may be told.
  void install(std::size_t path, bool& begun);
  void take_back(std::size_t path);
  void tell(std::size_t node, const std::vector<PinChange>& changes, bool dry_run);
  void tell_others(const std::vector<std::size_t>& but, const std::vector<PinChange>& changes);
  // The switches that send frames along these links, upstream first.
  [[nodiscard]] std::vector<std::size_t> switches_of(const std::vector<std::size_t>& links) const;
  [[nodiscard]] const Destinations& to(std::size_t path) const {
    return file_.paths[path].destinations;
  }
  [[nodiscard]] std::string text_of(std::size_t path) const;
  void report_once(std::size_t path, const std::string& line);

  const NetworkFile file_;
  const std::vector<LinkWay> ways_;
  PathWatch& paths_;
  Ask ask_;
  Report report_;
  SwitchPins pins_;
  std::vector<std::optional<Wanted>> wanted_;  // by path; none: nothing is decided or found
  std::vector<std::string> said_;              // by path: the latest trouble
};

}  // namespace tributary::telemetryd
