! SPDX-License-Identifier: BSD-3-Clause
! Stream-triggered queues from Fortran (include/sluice/sluice_queue.f90), through one of the interfaces of MPI (the build
! says which). An even number of ranks. Usage: <program> --backend <name>.
#include "mpi_types.inc"

program fortran_queues
  use, intrinsic :: iso_c_binding
  use sluice_queue
  use program_stream
#include "mpi_interface.inc"
  integer, parameter :: n = 30011, tag = 9
  character(len=64) :: backend
  integer :: code, provided, rank, partner, n_ranks, n_all

  call get_command_argument(2, backend)
  if (.not. open_memory(backend)) stop 77
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, n_ranks, code)
  partner = ieor(rank, 1)
  call messages(device_kind)
  call messages(host_kind)
  call collectives()
  call puts_and_signals()
  call persistent_messages()
  call vendor_form()
  call wrong_calls()
  call begin_test('the whole program')
  call MPI_Allreduce(n_failed, n_all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0) print '(a,i0)', 'failed checks: ', n_all
  call MPI_Finalize(code)
  if (n_all > 0) stop 1

contains

  ! To the partner and back, twice, the second time with what came the first time; the host only enqueues.
  subroutine messages(kind)
    integer, intent(in) :: kind
    integer(c_int8_t), pointer, contiguous :: out(:), in(:), back(:)
    type(c_ptr) :: queue, stream
    REQUEST :: requests(4)
    STATUSES(statuses, 4)
    integer :: count
    call begin_test('MPIX_Enqueue_send')
    out => new_buffer(kind, n)
    in => new_buffer(kind, n)
    back => new_buffer(kind, n)
    call fill(out, rank, 1)
    stream = new_stream()
    call mpix_create_queue(NUMBER_OF(MPI_COMM_WORLD), stream, queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Create_queue')
    call mpix_enqueue_recv(in, n, NUMBER_OF(MPI_BYTE), partner, tag, queue, NUMBER_OF(requests(1)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_recv')
    call mpix_enqueue_send(out, n, NUMBER_OF(MPI_BYTE), partner, tag, queue, NUMBER_OF(requests(2)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_send')
    call mpix_enqueue_start(queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_start')
    call mpix_enqueue_wait(queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_wait')
    call mpix_enqueue_recv(back, n, NUMBER_OF(MPI_BYTE), partner, tag, queue, NUMBER_OF(requests(3)), code)
    call mpix_enqueue_send(in, n, NUMBER_OF(MPI_BYTE), partner, tag, queue, NUMBER_OF(requests(4)), code)
    call mpix_enqueue_start(queue, code)
    call mpix_enqueue_wait(queue, code)
    call synchronize(stream)
    call MPI_Waitall(4, requests, statuses, code)
    call check_equal(code, MPI_SUCCESS, 'MPI_Waitall')
    call check_equal(FIRST_SOURCE(statuses), partner, 'MPI_SOURCE')
    call MPI_Get_count(STATUS_AT(statuses, 1), MPI_BYTE, count, code)
    call check_equal(count, n, 'the count')
    call check_bytes(in, n, partner, 1)
    call check_bytes(back, n, rank, 1)
    call mpix_free_queue(queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Free_queue')
    call free_stream(stream)
    call free_buffers()
  end subroutine

  subroutine collectives()
    integer(c_int8_t), pointer, contiguous :: spread(:)
    integer :: own(3), sums(3), all(3, 0:n_ranks - 1), i
    type(c_ptr) :: queue, stream
    REQUEST :: requests(4)
    call begin_test('MPIX_Enqueue_allreduce')
    spread => new_buffer(device_kind, n)
    if (rank == n_ranks - 1) call fill(spread, rank, 2)
    own = [rank, 2*rank, 100 + rank]
    sums = -1
    all = -1
    stream = new_stream()
    call mpix_create_queue(NUMBER_OF(MPI_COMM_WORLD), stream, queue, code)
    call mpix_enqueue_allreduce(own, sums, 3, NUMBER_OF(MPI_INTEGER), NUMBER_OF(MPI_SUM), queue, NUMBER_OF(requests(1)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_allreduce')
    call mpix_enqueue_allgather(own, 3, NUMBER_OF(MPI_INTEGER), all, 3, NUMBER_OF(MPI_INTEGER), queue, &
                                NUMBER_OF(requests(2)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_allgather')
    call mpix_enqueue_bcast(spread, n, NUMBER_OF(MPI_BYTE), n_ranks - 1, queue, NUMBER_OF(requests(3)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_bcast')
    call mpix_enqueue_barrier(queue, NUMBER_OF(requests(4)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_barrier')
    call mpix_enqueue_start(queue, code)
    call mpix_enqueue_wait(queue, code)
    call synchronize(stream)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, code)
    call check_equal(sums(2), n_ranks*(n_ranks - 1), 'a sum')
    do i = 0, n_ranks - 1
      call check_equal(all(3, i), 100 + i, 'what a rank gave')
    end do
    call check_bytes(spread, n, n_ranks - 1, 2)
    call mpix_free_queue(queue, code)
    call free_stream(stream)
    call free_buffers()
  end subroutine

  ! Debian's Open MPI 4 makes none in a container.
  logical function makes_windows()
    integer(MPI_ADDRESS_KIND) :: n_bytes
    integer :: nothing(1)
    COMMUNICATOR :: comm
    WINDOW :: win
    n_bytes = 0
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, code)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, code)
    call MPI_Win_create(nothing, n_bytes, 1, MPI_INFO_NULL, comm, win, code)
    makes_windows = code == MPI_SUCCESS
    if (makes_windows) call MPI_Win_free(win, code)
    call MPI_Comm_free(comm, code)
  end function

  ! Into the partner's window, and read back from there.
  subroutine puts_and_signals()
    integer(c_int8_t), pointer, contiguous :: memory(:), out(:), back(:)
    integer(MPI_ADDRESS_KIND) :: n_bytes
    type(c_ptr) :: queue, stream
    WINDOW :: win
    REQUEST :: requests(4)
    call begin_test('MPIX_Enqueue_put')
    if (.not. makes_windows()) then
      print '(a)', 'SKIPPED MPIX_Enqueue_put: missing: a host MPI that makes windows'
      return
    end if
    memory => new_buffer(device_kind, n)
    out => new_buffer(device_kind, n)
    back => new_buffer(device_kind, n)
    call fill(out, rank, 3)
    n_bytes = n
    call MPI_Win_create(memory, n_bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, code)
    call MPI_Win_lock_all(0, win, code)
    stream = new_stream()
    call mpix_create_queue(NUMBER_OF(MPI_COMM_WORLD), stream, queue, code)
    call mpix_enqueue_put(out, n, NUMBER_OF(MPI_BYTE), partner, 0_c_intptr_t, n, NUMBER_OF(MPI_BYTE), NUMBER_OF(win), queue, &
                          NUMBER_OF(requests(1)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_put')
    call mpix_enqueue_signal(partner, NUMBER_OF(win), queue, NUMBER_OF(requests(2)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_signal')
    call mpix_enqueue_wait_signal(partner, NUMBER_OF(win), queue, NUMBER_OF(requests(3)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_wait_signal')
    call mpix_enqueue_start(queue, code)
    call mpix_enqueue_wait(queue, code)
    call mpix_enqueue_get(back, n, NUMBER_OF(MPI_BYTE), partner, 0_c_intptr_t, n, NUMBER_OF(MPI_BYTE), NUMBER_OF(win), queue, &
                          NUMBER_OF(requests(4)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_get')
    call mpix_enqueue_start(queue, code)
    call mpix_enqueue_wait(queue, code)
    call synchronize(stream)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, code)
    call check_bytes(memory, n, partner, 3)
    call check_bytes(back, n, rank, 3)
    call mpix_free_queue(queue, code)
    call MPI_Win_unlock_all(win, code)
    call MPI_Win_free(win, code)
    call check_equal(code, MPI_SUCCESS, 'MPI_Win_free')
    call free_stream(stream)
    call free_buffers()
  end subroutine

  ! The same two operations three times, each time with other data and started by the stream.
  subroutine persistent_messages()
    integer, parameter :: n_times = 3
    integer(c_int8_t), pointer, contiguous :: out(:), in(:)
    type(c_ptr) :: queue, stream
    REQUEST :: operations(2)
    REQUEST :: requests(2)
    integer :: iteration
    call begin_test('sluice_enqueue_persistent')
    out => new_buffer(device_kind, n)
    in => new_buffer(device_kind, n)
    stream = new_stream()
    call mpix_create_queue(NUMBER_OF(MPI_COMM_WORLD), stream, queue, code)
    call MPI_Recv_init(in, n, MPI_BYTE, partner, tag + 1, MPI_COMM_WORLD, operations(1), code)
    call MPI_Send_init(out, n, MPI_BYTE, partner, tag + 1, MPI_COMM_WORLD, operations(2), code)
    do iteration = 1, n_times
      call fill(out, rank, 10 + iteration)
      call sluice_enqueue_persistent(NUMBER_OF(operations(1)), queue, NUMBER_OF(requests(1)), code)
      call check_equal(code, MPI_SUCCESS, 'a persistent receive')
      call sluice_enqueue_persistent(NUMBER_OF(operations(2)), queue, NUMBER_OF(requests(2)), code)
      call check_equal(code, MPI_SUCCESS, 'a persistent send')
      call mpix_enqueue_start(queue, code)
      call mpix_enqueue_wait(queue, code)
      call synchronize(stream)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
      call check_equal(code, MPI_SUCCESS, 'MPI_Waitall')
      call check_bytes(in, n, partner, 10 + iteration)
    end do
    call MPI_Request_free(operations(1), code)
    call MPI_Request_free(operations(2), code)
    call mpix_free_queue(queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Free_queue')
    call free_stream(stream)
    call free_buffers()
  end subroutine

  ! Two messages of one tag through one queue, each on a communicator of its own.
  subroutine vendor_form()
    use sluice_queue_vendor_form
    integer(c_int8_t), pointer, contiguous :: out(:), other_out(:), in(:), other_in(:)
    type(c_ptr) :: queue, stream
    COMMUNICATOR :: other
    REQUEST :: requests(4)
    call begin_test('the vendor''s form')
    out => new_buffer(device_kind, n)
    other_out => new_buffer(device_kind, n)
    in => new_buffer(device_kind, n)
    other_in => new_buffer(device_kind, n)
    call fill(out, rank, 21)
    call fill(other_out, rank, 22)
    call MPI_Comm_dup(MPI_COMM_WORLD, other, code)
    stream = new_stream()
    call mpix_create_queue(stream, queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Create_queue')
    call mpix_enqueue_recv(in, n, NUMBER_OF(MPI_BYTE), partner, tag, NUMBER_OF(MPI_COMM_WORLD), queue, &
                           NUMBER_OF(requests(1)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_recv')
    call mpix_enqueue_recv(other_in, n, NUMBER_OF(MPI_BYTE), partner, tag, NUMBER_OF(other), queue, &
                           NUMBER_OF(requests(2)), code)
    call mpix_enqueue_send(other_out, n, NUMBER_OF(MPI_BYTE), partner, tag, NUMBER_OF(other), queue, &
                           NUMBER_OF(requests(3)), code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Enqueue_send')
    call mpix_enqueue_send(out, n, NUMBER_OF(MPI_BYTE), partner, tag, NUMBER_OF(MPI_COMM_WORLD), queue, &
                           NUMBER_OF(requests(4)), code)
    call mpix_enqueue_start(queue, code)
    call mpix_enqueue_wait(queue, code)
    call synchronize(stream)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, code)
    call check_equal(code, MPI_SUCCESS, 'MPI_Waitall')
    call check_bytes(in, n, partner, 21)
    call check_bytes(other_in, n, partner, 22)
    call mpix_free_queue(queue, code)
    call check_equal(code, MPI_SUCCESS, 'MPIX_Free_queue')
    call MPI_Comm_free(other, code)
    call free_stream(stream)
    call free_buffers()
  end subroutine

  subroutine wrong_calls()
    type(c_ptr) :: queue
    integer :: error_class, ignored, request
    integer(c_int8_t) :: bytes(1)
    call begin_test('MPIX_Create_queue')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, code)
    bytes = 0_c_int8_t
    request = 0
    call mpix_create_queue(NUMBER_OF(MPI_COMM_WORLD), c_null_ptr, queue, code)
    call MPI_Error_class(code, error_class, ignored)
    call check_equal(error_class, MPI_ERR_ARG, 'the class of a null stream')
    call mpix_enqueue_send(bytes, 1, NUMBER_OF(MPI_BYTE), partner, tag, mpix_queue_null, request, code)
    call MPI_Error_class(code, error_class, ignored)
    call check_equal(error_class, MPI_ERR_ARG, 'the class of a null queue')
  end subroutine

end program
