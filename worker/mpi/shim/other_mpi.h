// The two MPIs have different kinds of handles, so each needs a library of its own.
#pragma once

namespace tributary::mpi {

// Ends the process, with the name of the right library, if the program is linked with the MPI that
// this library is not made for.
void refuse_other_mpi();

}  // namespace tributary::mpi
