! A Fortran program's sums: mpif.h's way, which Open MPI carries out without the C functions.
program sums
  use mpi
  implicit none
  integer, parameter :: count = 20000
  real(8) :: mine(count), total(count)
  integer :: part(count), error, rank, ranks, i, request
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  do i = 1, count
    mine(i) = rank + i
    part(i) = rank
  end do
  call MPI_Allreduce(mine, total, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  do i = 1, count
    if (total(i) /= ranks * i + ranks * (ranks - 1) / 2) call wrong(1)
  end do
  call MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
  if (any(part /= ranks - 1)) call wrong(2)
  call MPI_Iallreduce(MPI_IN_PLACE, mine, count, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
                      request, error)
  call MPI_Wait(request, MPI_STATUS_IGNORE, error)
  if (any(mine /= total)) call wrong(3)
  call MPI_Bcast(part, count, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a)', 'passed fortran'
  call MPI_Finalize(error)
contains
  subroutine wrong(where)
    integer, intent(in) :: where
    integer :: code
    print *, 'rank', rank, 'wrong result', where
    call MPI_Abort(MPI_COMM_WORLD, 3, code)
  end subroutine
end program
