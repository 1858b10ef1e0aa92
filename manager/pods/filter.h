// Whether one pod may run on one node as things are, and which devices it could have there; with
// the reason where it may not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manager/pods/ask.h"
#include "manager/pods/node.h"

namespace tributary::manager {

enum class Cause : std::uint8_t {
  none,
  not_ready,
  other_node,
  taint,
  no_device,  // of that kind or name
  device_problem,
  device_in_use,
  device_memory,
  device_load,
  cpu_load,
  cpu,
  memory
};

struct Verdict {
  Cause cause = Cause::none;
  std::string subject = {};  // taint or kind of device
  double best = 0;           // nearest to what is needed: bytes, share or thousandths
};

struct Thresholds {
  double load_below = 0.9;  // of pods that name none
};

// Free devices of that kind that the pod may have, as indices.
std::vector<std::size_t> eligible(const Node& node, const Ask& ask, const std::string& kind,
                                  const Thresholds& thresholds);
Verdict judge(const Node& node, const Ask& ask, const Thresholds& thresholds);
// How many pods like this one fit there together, at most `most`; devices named by the pod count as
// one place.
std::size_t room_for(const Node& node, const Ask& ask, const Thresholds& thresholds,
                     std::size_t most);

// "0/3 nodes are available: 2 have no example.com/npu, 1 has ...".
class Tally {
 public:
  explicit Tally(const Ask& ask, const Thresholds& thresholds)
      : ask_(ask), thresholds_(thresholds) {}
  void add(const Verdict& verdict);
  [[nodiscard]] std::string text() const;

 private:
  struct Row {
    std::size_t count = 0;
    double best = 0;
  };
  [[nodiscard]] std::string phrase(Cause cause, const std::string& subject, double best) const;

  const Ask& ask_;
  const Thresholds& thresholds_;
  std::size_t nodes_ = 0;
  std::map<std::pair<Cause, std::string>, Row> rows_;
};

}  // namespace tributary::manager
