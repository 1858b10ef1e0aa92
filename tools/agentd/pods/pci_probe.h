// Accelerators of other vendors, by their PCI ids and what their drivers show in sysfs. Memory and
// load are not known: they are 0, so pods that ask for device memory do not get one.
#pragma once

#include <string>
#include <vector>

#include "tools/agentd/pods/declared_devices.h"

namespace tributary::agentd {

// `root`: where sysfs is. Sorted by address; names are of the kind's last part and a number.
std::vector<LocalDevice> pci_devices(const std::string& root = "/sys");

}  // namespace tributary::agentd
