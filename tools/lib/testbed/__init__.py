"""Workers and a switch on one machine, for the quickstart and the system tests.

Everything a run makes ends with it, however it ends:
- processes live in their own process groups, stop on exit, and the kernel kills them if the run
  itself is killed (PR_SET_PDEATHSIG);
- network namespaces have no name: the run holds them by file descriptor, so the kernel removes
  them and the links in them when the last holder is gone;
- files live in one run directory, locked by the run; a directory without a lock is swept by
  the next run, or by tools/testbed clean.

Layers, lowest first: tree (where things are), loop (waiting and signals), process, namespace,
run_directory, fabric (how workers reach the switch), switch, bed (all of it together); for trees of switches
topology, tree_bed, keeper (what lives between calls) and command (tools/testbed).
"""
