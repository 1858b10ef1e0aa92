// The configuration that a switch runs with: its file as it was read last, and what `set` has
// overridden in it.
//
//   reload   the file is read anew; what was overridden stays
//   set      keys of it say something else, or again what the file says; elements of its lists of
//            mappings come, change and go
//   assign   a manager's document says which jobs there are (config/topology/assigned.h); it holds
//            over reloads, and `set` changes none of its keys
//   open     ranks bring jobs that no file names, and jobs without members end; a reload that
//            leaves such a job no place ends it
//
// Each makes a whole configuration, checks it like any file, and hands it to the switch, which
// takes it whole or refuses it; after a refusal nothing has changed here, either. An accepted
// change is still an error while part of it is not in force: a port that had to be closed and could
// not be opened again, a packet loop that is late, or what a restart would not know. An override
// that another file or document leaves no place for is set aside, and tried again with the next.
// One change at a time: a request that comes during another fails at once, except SIGHUP, which
// waits. Requests that change nothing never wait.
#pragma once

#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/change/change.h"
#include "config/change/overrides.h"
#include "config/topology/assigned.h"
#include "config/topology/document.h"
#include "control/change/request.h"

namespace tributary::control {

// The change holds, but for what the text says.
class TakenButNotWhole : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Reloaded {
  std::string text;        // what came of it
  bool set_aside = false;  // some override; the text says which
};

class RunningConfig {
 public:
  // How it reaches the world; each may throw, and has then changed nothing.
  struct Shell {
    std::function<std::string()> read;  // the text of the file, now
    std::function<config::Change(const config::SwitchConfig& next)> compare;
    std::function<config::Change(const config::SwitchConfig& next)> apply;
    // The text of the assigned document that is in force now, for the next start.
    std::function<void(const std::string& text)> keep = {};
    // The term of a document, before the document; 0: none counts any more.
    std::function<void(std::uint64_t term)> keep_term = {};
    // All overrides, as config::dump() has them, for the next start.
    std::function<void(const std::string& text)> keep_overrides = {};
  };
  // `document`: what the switch was started with, and `assigned` beside it. `latest`: only later
  // documents are taken; left out: than the one that is assigned. `overrides`: settled.
  RunningConfig(config::Document document, Shell shell,
                std::optional<config::Assigned> assigned = {},
                std::optional<config::Version> latest = {}, config::Overrides overrides = {});

  // Any thread. Throw TakenButNotWhole, when all is as the text says; else nothing has changed, and
  // they throw std::runtime_error when another change is under way, what is wrong with a file or a
  // value, and what the switch throws that cannot take it.
  Reloaded reload();
  Reloaded reload_patiently();  // waits for its turn
  nlohmann::ordered_json set(const SetRequest& request);
  // Another assigned document. Older ones are refused, the one in force is taken without a change.
  // No error quotes a file that is no such document. With `forget_term` instead, what is in force
  // stays, and a document of any term and revision is taken next.
  nlohmann::ordered_json assign(const AssignRequest& request);
  // Changes the list of jobs that ranks have opened (control/open/), which no restart keeps.
  // `running` has them, too. Throws std::invalid_argument where a manager assigns the jobs.
  using OpenEdit = std::function<void(const config::SwitchConfig& running,
                                      std::vector<config::JobConfig>& open)>;
  void open(const OpenEdit& edit);
  // The only row of `show assigned`; none: nothing is assigned.
  nlohmann::ordered_json assigned();
  // Rows of `show overrides`, as they were before a change that is under way.
  nlohmann::ordered_json overrides();

 private:
  // A key or an element that a request is about.
  struct Edit {
    std::string path;
    config::Override::Kind kind = config::Override::Kind::value;
    std::optional<std::size_t> element = std::nullopt;  // of the list there
  };

  [[nodiscard]] std::unique_lock<std::mutex> take_turn();
  std::string keep_assigned();
  [[nodiscard]] std::string keep_overrides() const;
  nlohmann::ordered_json forget_term();
  Reloaded read_anew();
  [[nodiscard]] config::SwitchConfig whole(const config::Document& document) const;
  void forget_open_but(const config::SwitchConfig& running);
  // As they would be.
  Edit set_key(const std::string& path, const std::string& value, config::Overrides& next) const;
  Edit set_element(const std::string& path, const std::string& text, config::Overrides& next) const;
  Edit remove_element(const std::string& path, config::Overrides& next) const;
  Edit take_back(const std::string& path, config::Overrides& next) const;
  void add(config::Override override, config::Overrides& next) const;
  [[nodiscard]] std::vector<Edit> edit(const SetRequest& request, config::Overrides& next) const;

  std::mutex changing_;
  // Written by who holds `changing_`, with `written_`; read with either.
  std::mutex written_;
  config::Document file_;
  config::Overrides overrides_;
  std::vector<config::JobConfig> open_;  // of who holds `changing_` alone
  std::optional<config::Assigned> assigned_;
  config::Version latest_;
  bool kept_ = true;  // assigned_ is what a restart knows
  Shell shell_;
};

}  // namespace tributary::control
