// tributary: the command-line client of switches and jobs.
#include <exception>
#include <iostream>
#include <stdexcept>

#include "tools/client/behind_mark.h"
#include "tools/client/commands.h"
#include "tools/program/standard_output.h"

int main(int argc, char** argv) {
  using namespace tributary::client;
  int exit_status = 0;
  const PassedWords behind = cut_behind_mark(argc, argv);
  tributary::cli::App app("Client of Tributary, the switch that sums tensors in the network.",
                          "tributary");
  app.set_version_flag("--version", "tributary " TRIBUTARY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "`tributary COMMAND --help` explains a command.\n"
      "Exit status: 0 done; 1 failed, or a result was wrong; 2 bad command line.");
  add_show(app);
  add_events(app);
  add_top(app);
  add_exclude(app);
  add_drain(app);
  add_place_host(app);
  add_forget_term(app);
  add_reload(app);
  add_set(app);
  add_unset(app);
  add_capture(app);
  add_trace(app);
  add_allreduce(app, exit_status);
  add_bench(app, exit_status);
  add_doctor(app, exit_status);
  add_get(app);
  add_pool(app, exit_status);
  add_job(app);
  add_pod(app);
  add_node(app);
  add_device(app);
  add_topology(app);
  add_stragglers(app);
  add_run(app, behind, exit_status);
  add_mpirun(app, behind, exit_status);
  add_mpi_rank(app, behind, exit_status);
  try {
    if (const auto status = app.run(argc, argv)) return *status;
  } catch (const std::invalid_argument& error) {
    std::cerr << "tributary: " << error.what() << '\n';
    return kExitUsage;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << "tributary: " << error.what() << '\n';
    return kExitFailed;
  }
  return tributary::tools::finish_output("tributary", exit_status);
}
