// Reports of tasks' members on this machine, in files of one folder
// (worker/python/tributary/_task/status.py). No switch is asked: a switch sees a task's ops as
// those of any job.
#pragma once

#include <string>

#include "tools/client/control/control_client.h"

namespace tributary::client {

// Rows of a table: without `job`, one for each member; else the time-line of all members of that
// task job. What is no report is left out, with a note. Throws std::runtime_error if there is no
// such folder.
Reply read_task_reports(const std::string& folder, const std::string& job);

}  // namespace tributary::client
