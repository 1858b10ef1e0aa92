// One request of the control socket: a line of JSON in, a line of JSON out.
//
//   {"command":"show","what":"ports"}  →  {"ok":true,"data":[...]}; with "notes":["..."] where the
//                                         rows are not all that there is
//   {"command":"exclude","job":1,"rank":3,"from":42}  →  {"ok":true,"data":{"from":42}}
//   {"command":"reinstate","job":1,"rank":3}          →  the same; without "from": the next op
//                                                        to begin
//   {"command":"place-host","job":1,"loads":{"A":7,"ps1":3},"candidates":["A"]}
//                                      →  {"ok":true,"data":{"moved":1,"hosts":[...]}}
//   {"command":"drain","jobs":[1],"undo":false}       →  {"ok":true,"data":{"jobs":[1]}}; without
//                                                        "jobs": all
//   {"command":"assign","file":"/path","dry_run":false}  →  {"ok":true,"data":{"version":{...},
//                                          "change":"jobs: 1 added"}}; a manager's document
//   {"command":"assign","forget_term":true}  →  the same; the next document may have any term
//   {"command":"reload"}               →  {"ok":true,"data":"jobs: 1 changed; 0 as before"}
//   {"command":"set","values":{"ports.w0.storm.broadcast":"1000","switch.idle_sleep_max":null},
//    "remove":["jobs.1"],"dry_run":false}  →  {"ok":true,"data":{"keys":[...],
//                                          "change":"changed: ...","kept":true,"dry_run":false}};
//                                          null: as in the file
//   {"command":"set","unset_all":true,"dry_run":false}  →  the same
//   anything else                      →  {"ok":false,"error":"what is wrong; what is allowed"}
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/text/show_answer.h"

namespace tributary::control {

using ShowFunction = std::function<ShowAnswer(const std::string& what)>;

struct ExcludeRequest {
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
  bool exclude = true;                // otherwise: reinstate
  std::optional<std::uint32_t> from;  // op
};
// The op from which on it holds.
using ExcludeFunction = std::function<std::uint32_t(const ExcludeRequest&)>;

struct PlaceHostRequest {
  std::uint32_t job = 0;
  std::map<std::string, std::uint32_t> loads;  // by host
  std::vector<std::string> candidates;
};
// Returns which hosts serve now, as `show hosts` has it, and how many shards have moved.
using PlaceHostFunction = std::function<nlohmann::ordered_json(const PlaceHostRequest&)>;

struct DrainRequest {
  std::vector<std::uint32_t> jobs;  // none: all
  bool undo = false;
};
// The jobs that are drained, or not any more.
using DrainFunction = std::function<std::vector<std::uint32_t>(const DrainRequest&)>;

// A manager's document, from a file of this machine: it may be larger than a request.
struct AssignRequest {
  std::string file = {};
  std::string text = {};  // the file's; read by the function
  bool dry_run = false;
  bool forget_term = false;  // instead of a file
};
using AssignFunction = std::function<nlohmann::ordered_json(const AssignRequest&)>;

// Reads the configuration anew; returns what came of it.
using ReloadFunction = std::function<std::string()>;

struct SetRequest {
  // Paths and values as in the configuration file; nullopt: the file's value.
  std::vector<std::pair<std::string, std::optional<std::string>>> values = {};
  bool dry_run = false;
  std::vector<std::string> remove = {};  // elements of lists of mappings
  bool unset_all = false;                // instead: nothing is overridden any more
};
inline constexpr std::size_t kMostSetKeys = 32;
// Returns the result, key by key.
using SetFunction = std::function<nlohmann::ordered_json(const SetRequest&)>;

// True for a request that may have to wait for devices, or for another one of this kind.
bool takes_long(std::string_view line);

// Carry out the commands. Those without a function do not exist.
struct Commands {
  ShowFunction show = {};
  ExcludeFunction exclude = {};
  ReloadFunction reload = {};
  PlaceHostFunction place_host = {};
  SetFunction set = {};
  AssignFunction assign = {};
  DrainFunction drain = {};
};
// Never throws; the reply has no newline.
std::string answer_request(std::string_view line, const Commands& commands);

}  // namespace tributary::control
