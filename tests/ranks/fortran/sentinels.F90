! SPDX-License-Identifier: BSD-3-Clause
! What only Fortran has: its own MPI_BOTTOM, MPI_IN_PLACE and MPI_UNWEIGHTED, array sections, integer handles that C
! completes; and derived types made in Fortran.
#include "mpi_types.inc"

module sentinels
  use, intrinsic :: iso_c_binding, only: c_int8_t, c_int
  implicit none
  private
  public :: gapped_types, bottom, in_place, unweighted, completed_in_c, sections, combined_later, large_counts

contains

  ! Three bytes of every eight.
  subroutine gapped_types(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    call exchange_vectors(send_kind, recv_kind, max(1, n / 8))
  end subroutine

  subroutine exchange_vectors(send_kind, recv_kind, n_runs)
    use point_to_point
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n_runs
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    DATATYPE :: gapped
    STATUS(status)
    integer :: code, sent
    call begin_test('a type with gaps')
    in => new_buffer(send_kind, 8 * n_runs)
    out => new_buffer(recv_kind, 8 * n_runs)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Type_vector(n_runs, 3, 8, MPI_BYTE, gapped, code)
    call MPI_Type_commit(gapped, code)
    call MPI_Sendrecv(in, 1, gapped, partner, 31, out, 1, gapped, partner, 31, MPI_COMM_WORLD, status, code)
    call check_code(code, 'MPI_Sendrecv')
    call check_status(status, partner, 31, 3 * n_runs)
    call check_runs(out, partner, sent, n_runs, 3, 8)
    call MPI_Type_free(gapped, code)
    call free_buffers()
  end subroutine

  ! MPI_BOTTOM with absolute addresses.
  subroutine bottom(send_kind, recv_kind, n)
    use point_to_point
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    integer(kind=MPI_ADDRESS_KIND) :: addresses(1)
    DATATYPE :: in_type, out_type
    REQUEST :: request
    STATUS(status)
    integer :: code, sent
    call begin_test('MPI_BOTTOM')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Get_address(in(1), addresses(1), code)
    call MPI_Type_create_hindexed(1, [n], addresses, MPI_BYTE, in_type, code)
    call MPI_Type_commit(in_type, code)
    call MPI_Get_address(out(1), addresses(1), code)
    call MPI_Type_create_hindexed(1, [n], addresses, MPI_BYTE, out_type, code)
    call MPI_Type_commit(out_type, code)
    call MPI_Irecv(MPI_BOTTOM, 1, out_type, partner, 32, MPI_COMM_WORLD, request, code)
    call check_code(code, 'MPI_Irecv')
    call MPI_Send(MPI_BOTTOM, 1, in_type, partner, 32, MPI_COMM_WORLD, code)
    call check_code(code, 'MPI_Send')
    call MPI_Wait(request, status, code)
    call check_status(status, partner, 32, n)
    call check_bytes(out, n, partner, sent)
    call MPI_Type_free(in_type, code)
    call MPI_Type_free(out_type, code)
    call free_buffers()
  end subroutine

  ! Sentinels of operations that Sluice hands on, on host memory.
  subroutine in_place()
    use point_to_point
#include "mpi_interface.inc"
    integer :: value, n_ranks, code
    call begin_test('MPI_IN_PLACE')
    call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, code)
    value = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check_code(code, 'MPI_Allreduce')
    call check_equal(value, n_ranks * (n_ranks + 1) / 2, 'the sum')
  end subroutine

  subroutine unweighted()
    use point_to_point
#include "mpi_interface.inc"
    COMMUNICATOR :: graph
    integer :: code, n_in, n_out, peers(1)
    logical :: is_weighted
    call begin_test('MPI_UNWEIGHTED')
    peers = [partner]
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, peers, MPI_UNWEIGHTED, 1, peers, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, code)
    call check_code(code, 'MPI_Dist_graph_create_adjacent')
    call MPI_Dist_graph_neighbors_count(graph, n_in, n_out, is_weighted, code)
    call check(n_in == 1 .and. n_out == 1 .and. .not. is_weighted, 'the graph')
    call MPI_Comm_free(graph, code)
  end subroutine

  ! The request is made in Fortran and completed in C, with MPI_Request_f2c.
  subroutine completed_in_c(send_kind, recv_kind, n)
    use point_to_point
#include "mpi_interface.inc"
    interface
      function wait_in_c(request, envelope) bind(c, name='test_wait_in_c')
        import :: c_int
        integer(c_int), intent(inout) :: request
        integer(c_int), intent(out) :: envelope(3)
        integer(c_int) :: wait_in_c
      end function
    end interface
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: requests(2)
    integer(c_int) :: handle, envelope(3)  ! what MPI_Fint is
    integer :: code, sent
    call begin_test('MPI_Request_f2c')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Irecv(out, n, MPI_BYTE, partner, 33, MPI_COMM_WORLD, requests(1), code)
    call MPI_Isend(in, n, MPI_BYTE, partner, 33, MPI_COMM_WORLD, requests(2), code)
#if defined(INTERFACE_MPI_F08)
    handle = requests(1)%MPI_VAL
#else
    handle = requests(1)
#endif
    call check_code(int(wait_in_c(handle, envelope)), 'MPI_Wait in C')
#if defined(INTERFACE_MPI_F08)
    call check_equal(handle, MPI_REQUEST_NULL%MPI_VAL, 'the request')
#else
    call check_equal(handle, MPI_REQUEST_NULL, 'the request')
#endif
    call check(all(envelope == [partner, 33, n]), 'the envelope in C')
    call check_bytes(out, n, partner, sent)
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code)
    call free_buffers()
  end subroutine

  ! Sections with a stride travel as they are where the host MPI takes them (mpi_f08 with descriptors), blocking and not;
  ! and the error argument may be left out.
  subroutine sections(send_kind, recv_kind, n)
    use point_to_point
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
#if defined(INTERFACE_MPI_F08)
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: request
    STATUS(status)
    integer :: sent, half
    call begin_test('array sections')
    if (.not. MPI_SUBARRAYS_SUPPORTED) return
    half = (n + 1) / 2
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Irecv(out(1:n:2), half, MPI_BYTE, partner, 34, MPI_COMM_WORLD, request)
    call MPI_Send(in(1:n:2), half, MPI_BYTE, partner, 34, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call check_status(status, partner, 34, half)
    call check_runs(out, partner, sent, half, 1, 2)
    call free_buffers()
#else
    if (.false.) call check_equal(send_kind, recv_kind + n, 'nothing')
#endif
  end subroutine

  ! MPI_Isendrecv and its replacing form, where the host MPI has them.
  subroutine combined_later(send_kind, recv_kind, n)
    use point_to_point
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
#if defined(HAS_MPI_4)
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: request
    integer :: sent, code
    call begin_test('MPI_Isendrecv')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Isendrecv(in, n, MPI_BYTE, partner, 35, out, n, MPI_BYTE, partner, 35, MPI_COMM_WORLD, request, code)
    call check_code(code, 'MPI_Isendrecv')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check_bytes(out, n, partner, sent)
    call begin_test('MPI_Isendrecv_replace')
    call MPI_Isendrecv_replace(in, n, MPI_BYTE, partner, 36, partner, 36, MPI_COMM_WORLD, request, code)
    call check_code(code, 'MPI_Isendrecv_replace')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check_bytes(in, n, partner, sent)
    call free_buffers()
#else
    if (.false.) call check_equal(send_kind, recv_kind + n, 'nothing')
#endif
  end subroutine

  ! Counts of kind MPI_COUNT_KIND, which mpi_f08 alone has, where the host MPI has them.
  subroutine large_counts(send_kind, recv_kind, n)
    use point_to_point
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
#if defined(HAS_MPI_4) && defined(INTERFACE_MPI_F08)
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: requests(2)
    STATUS(status)
    integer(kind=MPI_COUNT_KIND) :: count
    integer :: sent
    call begin_test('large counts')
    count = int(n, MPI_COUNT_KIND)
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Irecv(out, count, MPI_BYTE, partner, 37, MPI_COMM_WORLD, requests(1))
    call MPI_Send(in, count, MPI_BYTE, partner, 37, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), status)
    call check_status(status, partner, 37, n)
    call check_bytes(out, n, partner, sent)
    call poison(out)
    call MPI_Recv_init(out, count, MPI_BYTE, partner, 38, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(in, count, MPI_BYTE, partner, 38, MPI_COMM_WORLD, requests(2))
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check_bytes(out, n, partner, sent)
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
    call free_buffers()
#else
    if (.false.) call check_equal(send_kind, recv_kind + n, 'nothing')
#endif
  end subroutine

end module
