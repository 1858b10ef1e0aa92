// Container Device Interface: the files by which podman knows a node's devices, one for each kind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/agentd/pods/declared_devices.h"

namespace tributary::agentd {

// File names and texts. Pure.
std::map<std::string, std::string> cdi_files(const std::string& node,
                                             const std::vector<LocalDevice>& devices);

// Keeps a folder's files of this node as they have to be; files of others stay.
class CdiFolder {
 public:
  CdiFolder(std::string folder, std::string node)
      : folder_(std::move(folder)), node_(std::move(node)) {}
  // Writes what differs and removes what is of no device any more. Throws std::runtime_error.
  void update(const std::vector<LocalDevice>& devices);

 private:
  void remove_others(const std::map<std::string, std::string>& wanted) const;

  const std::string folder_;
  const std::string node_;
  std::map<std::string, std::string> written_;
  bool looked_ = false;  // for files of an earlier run
};

}  // namespace tributary::agentd
