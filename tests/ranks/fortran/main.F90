! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program through one of the interfaces of MPI (the build says which): every exchange between devices for each
! size, and between device and host. An even number of ranks. Usage: <program> --backend <name>; `none` is host memory alone.
#include "mpi_types.inc"

program fortran_program
  use point_to_point
  use sentinels
#include "mpi_interface.inc"
  integer, parameter :: sizes(4) = [1, 777, 70000, 1024 * 1024 + 3]
  integer, parameter :: attached_bytes = 4 * (sizes(4) + 4096)
  character(len=1), allocatable :: attached(:)
  character(len=64) :: backend
  integer :: code, i, n_ranks, n_all
  logical :: has_device

  call get_command_argument(2, backend)
  has_device = backend /= 'none'
  if (has_device) then
    if (.not. open_memory(backend)) stop 77
  end if
  call MPI_Init(code)
  call check_code(code, 'MPI_Init')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, code)
  partner = ieor(rank, 1)
  allocate (attached(attached_bytes))
  call MPI_Buffer_attach(attached, attached_bytes, code)
  call find_first_index()
  do i = 1, size(sizes)
    if (has_device) then
      call all_exchanges(device_kind, device_kind, sizes(i))
    else
      call all_exchanges(host_kind, host_kind, sizes(i))
    end if
  end do
  if (has_device) then
    call all_exchanges(device_kind, host_kind, sizes(3))
    call all_exchanges(host_kind, device_kind, sizes(3))
  end if
  call in_place()
  call unweighted()
  call begin_test('the whole program')
  call MPI_Allreduce(n_failed, n_all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,i0)', 'failed checks: ', n_all
  call MPI_Finalize(code)
  if (n_all > 0) stop 1

contains

  subroutine all_exchanges(send_kind, recv_kind, n)
    integer, intent(in) :: send_kind, recv_kind, n
    call blocking('MPI_Send', send_kind, recv_kind, n)
    call blocking('MPI_Ssend', send_kind, recv_kind, n)
    call blocking('MPI_Bsend', send_kind, recv_kind, n)
    call nonblocking(send_kind, recv_kind, n)
    call some_at_a_time(send_kind, recv_kind, n)
    call persistent(send_kind, recv_kind, n)
    call combined(send_kind, recv_kind, n)
    call probed(send_kind, recv_kind, n)
    call freed(send_kind, recv_kind, n)
    call gapped_types(send_kind, recv_kind, n)
    call bottom(send_kind, recv_kind, n)
    call completed_in_c(send_kind, recv_kind, n)
    call sections(send_kind, recv_kind, n)
    call combined_later(send_kind, recv_kind, n)
    call large_counts(send_kind, recv_kind, n)
  end subroutine

end program
