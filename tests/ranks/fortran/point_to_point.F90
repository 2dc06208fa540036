! SPDX-License-Identifier: BSD-3-Clause
! Point to point: each procedure exchanges messages of `n` bytes with the partner, from memory of one kind into memory
! of another, and checks every byte and every status.
#include "mpi_types.inc"

module point_to_point
  use, intrinsic :: iso_c_binding, only: c_int8_t
  implicit none
  private
  public :: blocking, nonblocking, some_at_a_time, persistent, combined, probed, freed
  public :: check_status, check_code, next_iteration, find_first_index, rank, partner

  integer, parameter :: tag = 7
  integer :: rank = 0, partner = 0
  integer :: iteration = 0
  ! The index by which the host MPI names the first request of an array: 1, and 0 in the mpi_f08 of MPICH 4.0.
  integer :: first_index = 1

contains

  ! Asks the host MPI, with a message of host memory to this rank itself.
  subroutine find_first_index()
#include "mpi_interface.inc"
    REQUEST :: request(1)
    integer :: code
    logical :: is_there
    integer(c_int8_t) :: sent(1), received(1)
    sent = 0_c_int8_t
    call MPI_Irecv(received, 1, MPI_BYTE, rank, tag, MPI_COMM_WORLD, request(1), code)
    call MPI_Send(sent, 1, MPI_BYTE, rank, tag, MPI_COMM_WORLD, code)
    call MPI_Waitany(1, request, first_index, MPI_STATUS_IGNORE, code)
    is_there = first_index == 0 .or. first_index == 1
    call check(is_there, 'the index of the first request')
  end subroutine

  ! Each message has a pattern of its own.
  integer function next_iteration()
    iteration = iteration + 1
    next_iteration = iteration
  end function

  subroutine check_code(code, what)
#include "mpi_interface.inc"
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    call check_equal(code, MPI_SUCCESS, what//': the error code')
  end subroutine

  subroutine check_status(status, source, expected_tag, n)
#include "mpi_interface.inc"
    STATUS(status)
    integer, intent(in) :: source, expected_tag, n
    integer :: count, code
    call check_equal(SOURCE_OF(status), source, 'MPI_SOURCE')
    call check_equal(TAG_OF(status), expected_tag, 'MPI_TAG')
    call MPI_Get_count(status, MPI_BYTE, count, code)
    call check_code(code, 'MPI_Get_count')
    call check_equal(count, n, 'the count')
  end subroutine

  subroutine send_in_mode(mode, in, n, code)
#include "mpi_interface.inc"
    character(len=*), intent(in) :: mode
    integer(c_int8_t), pointer, contiguous, intent(in) :: in(:)
    integer, intent(in) :: n
    integer, intent(out) :: code
    select case (mode)
    case ('MPI_Send')
      call MPI_Send(in, n, MPI_BYTE, partner, tag, MPI_COMM_WORLD, code)
    case ('MPI_Ssend')
      call MPI_Ssend(in, n, MPI_BYTE, partner, tag, MPI_COMM_WORLD, code)
    case default
      call MPI_Bsend(in, n, MPI_BYTE, partner, tag, MPI_COMM_WORLD, code)
    end select
    call check_code(code, mode)
  end subroutine

  ! Into buffers larger than the message; once with a status, once with MPI_STATUS_IGNORE.
  subroutine blocking(mode, send_kind, recv_kind, n)
#include "mpi_interface.inc"
    character(len=*), intent(in) :: mode
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:), ignored(:)
    integer :: code, first, second
    STATUS(status)
    call begin_test(mode)
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n + 100)
    ignored => new_buffer(recv_kind, n + 100)
    first = next_iteration()
    second = next_iteration()
    call fill(in, rank, first)
    if (rank < partner) call send_in_mode(mode, in, n, code)
    call MPI_Recv(out, n + 100, MPI_BYTE, partner, tag, MPI_COMM_WORLD, status, code)
    call check_code(code, 'MPI_Recv')
    if (rank > partner) call send_in_mode(mode, in, n, code)
    call fill(in, rank, second)
    if (rank < partner) call send_in_mode(mode, in, n, code)
    call MPI_Recv(ignored, n + 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
    call check_code(code, 'MPI_Recv without a status')
    if (rank > partner) call send_in_mode(mode, in, n, code)
    call check_status(status, partner, tag, n)
    call check_bytes(out, n, partner, first)
    call check_bytes(ignored, n, partner, second)
    call free_buffers()
  end subroutine

  ! Four messages each way: Isend, Issend, Ibsend, Irsend. Once with statuses, once with MPI_STATUSES_IGNORE.
  subroutine nonblocking(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer, parameter :: n_messages = 4
    integer(c_int8_t), pointer, contiguous :: in(:), out_1(:), out_2(:), out_3(:), out_4(:)
    REQUEST :: requests(2 * n_messages)
    STATUSES(statuses, 2 * n_messages)
    integer :: code, round, i, sent
    call begin_test('MPI_Waitall')
    in => new_buffer(send_kind, n)
    out_1 => new_buffer(recv_kind, n + 10)
    out_2 => new_buffer(recv_kind, n + 10)
    out_3 => new_buffer(recv_kind, n + 10)
    out_4 => new_buffer(recv_kind, n + 10)
    do round = 1, 2
      sent = next_iteration()
      call fill(in, rank, sent)
      call MPI_Irecv(out_1, n + 10, MPI_BYTE, partner, 1, MPI_COMM_WORLD, requests(1), code)
      call MPI_Irecv(out_2, n + 10, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(2), code)
      call MPI_Irecv(out_3, n + 10, MPI_BYTE, partner, 3, MPI_COMM_WORLD, requests(3), code)
      call MPI_Irecv(out_4, n + 10, MPI_BYTE, partner, 4, MPI_COMM_WORLD, requests(4), code)
      call check_code(code, 'MPI_Irecv')
      call MPI_Barrier(MPI_COMM_WORLD, code)
      call MPI_Isend(in, n, MPI_BYTE, partner, 1, MPI_COMM_WORLD, requests(5), code)
      call MPI_Issend(in, n, MPI_BYTE, partner, 2, MPI_COMM_WORLD, requests(6), code)
      call MPI_Ibsend(in, n, MPI_BYTE, partner, 3, MPI_COMM_WORLD, requests(7), code)
      call MPI_Irsend(in, n, MPI_BYTE, partner, 4, MPI_COMM_WORLD, requests(8), code)
      call check_code(code, 'MPI_Irsend')
      if (round == 1) then
        call MPI_Waitall(2 * n_messages, requests, statuses, code)
        do i = 1, n_messages
          call check_status(STATUS_AT(statuses, i), partner, i, n)
        end do
      else
        call MPI_Waitall(2 * n_messages, requests, MPI_STATUSES_IGNORE, code)
      end if
      call check_code(code, 'MPI_Waitall')
      call check(all_null(requests), 'a request is not MPI_REQUEST_NULL')
      call check_bytes(out_1, n, partner, sent)
      call check_bytes(out_2, n, partner, sent)
      call check_bytes(out_3, n, partner, sent)
      call check_bytes(out_4, n, partner, sent)
      call poison(out_1)
      call poison(out_2)
      call poison(out_3)
      call poison(out_4)
    end do
    call free_buffers()
  end subroutine

  logical function all_null(requests)
#include "mpi_interface.inc"
    REQUEST, intent(in) :: requests(:)
    integer :: i
    all_null = .true.
    do i = 1, size(requests)
      all_null = all_null .and. requests(i) == MPI_REQUEST_NULL
    end do
  end function

  ! Waitany, Testany, Waitsome, Testsome, Wait, Test, Testall and Request_get_status find what has come.
  subroutine some_at_a_time(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: requests(2)
    STATUSES(statuses, 2)
    STATUS(status)
    integer :: code, way, sent, indices(2), n_done, n_left, i
    logical :: is_done
    call begin_test('some at a time')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    do way = 1, 9
      sent = next_iteration()
      call fill(in, rank, sent)
      call poison(out)
      call MPI_Irecv(out, n, MPI_BYTE, partner, way, MPI_COMM_WORLD, requests(1), code)
      call MPI_Isend(in, n, MPI_BYTE, partner, way, MPI_COMM_WORLD, requests(2), code)
      n_left = 2
      is_done = .false.
      do while (n_left > 0)
        n_done = 0
        select case (way)
        case (1)
          call MPI_Waitany(2, requests, indices(1), STATUS_AT(statuses, 1), code)
          n_done = 1
        case (2)
          call MPI_Testany(2, requests, indices(1), is_done, STATUS_AT(statuses, 1), code)
          if (is_done) n_done = 1
        case (3)
          call MPI_Waitsome(2, requests, n_done, indices, statuses, code)
        case (4)
          call MPI_Testsome(2, requests, n_done, indices, statuses, code)
        case (5)
          call MPI_Wait(requests(n_left), STATUS_AT(statuses, 1), code)
          indices(1) = n_left - 1 + first_index
          n_done = 1
        case (6)
          call MPI_Test(requests(n_left), is_done, STATUS_AT(statuses, 1), code)
          indices(1) = n_left - 1 + first_index
          if (is_done) n_done = 1
        case (7)
          call MPI_Testall(2, requests, is_done, statuses, code)
          indices = [0, 1] + first_index
          if (is_done) n_done = 2
        case (8)
          call MPI_Request_get_status(requests(1), is_done, STATUS_AT(statuses, 1), code)
          if (is_done) then
            call check_bytes(out, n, partner, sent)
            call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
            call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code)
            indices = [0, 1] + first_index
            n_done = 2
          end if
        case (9)
          ! The sentinel where the arrays of the others stand.
          call MPI_Waitsome(2, requests, n_done, indices, MPI_STATUSES_IGNORE, code)
        end select
        call check_code(code, 'completion')
        do i = 1, n_done
          status = STATUS_AT(statuses, i)
          if (indices(i) == first_index .and. way /= 9) call check_status(status, partner, way, n)
        end do
        n_left = n_left - n_done
      end do
      call check(all_null(requests), 'a request is not MPI_REQUEST_NULL')
      call check_bytes(out, n, partner, sent)
    end do
    call free_buffers()
  end subroutine

  ! Each mode of persistent sends, started three times with new data.
  subroutine persistent(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: requests(2)
    STATUSES(statuses, 2)
    integer :: code, round, mode, sent
    call begin_test('persistent')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n + 5)
    do mode = 1, 3
      call MPI_Recv_init(out, n + 5, MPI_BYTE, partner, mode, MPI_COMM_WORLD, requests(1), code)
      call check_code(code, 'MPI_Recv_init')
      select case (mode)
      case (1)
        call MPI_Send_init(in, n, MPI_BYTE, partner, mode, MPI_COMM_WORLD, requests(2), code)
      case (2)
        call MPI_Ssend_init(in, n, MPI_BYTE, partner, mode, MPI_COMM_WORLD, requests(2), code)
      case (3)
        call MPI_Rsend_init(in, n, MPI_BYTE, partner, mode, MPI_COMM_WORLD, requests(2), code)
      end select
      call check_code(code, 'MPI_Send_init')
      do round = 1, 3
        sent = next_iteration()
        call fill(in, rank, sent)
        if (round < 3 .or. mode == 3) then
          call MPI_Start(requests(1), code)
          if (mode == 3) call MPI_Barrier(MPI_COMM_WORLD, code)
          call MPI_Start(requests(2), code)
        else
          call MPI_Startall(2, requests, code)
        end if
        call check_code(code, 'MPI_Start')
        call MPI_Waitall(2, requests, statuses, code)
        call check_code(code, 'MPI_Waitall')
        call check_status(STATUS_AT(statuses, 1), partner, mode, n)
        call check_bytes(out, n, partner, sent)
        call poison(out)
      end do
      call MPI_Request_free(requests(1), code)
      call MPI_Request_free(requests(2), code)
      call check(all_null(requests), 'a freed request is not MPI_REQUEST_NULL')
    end do
    call free_buffers()
  end subroutine

  ! MPI_Sendrecv and MPI_Sendrecv_replace.
  subroutine combined(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    integer :: code, sent
    STATUS(status)
    call begin_test('MPI_Sendrecv')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n + 9)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Sendrecv(in, n, MPI_BYTE, partner, rank, out, n + 9, MPI_BYTE, partner, partner, MPI_COMM_WORLD, status, &
                      code)
    call check_code(code, 'MPI_Sendrecv')
    call check_status(status, partner, partner, n)
    call check_bytes(out, n, partner, sent)
    call begin_test('MPI_Sendrecv_replace')
    call MPI_Sendrecv_replace(in, n, MPI_BYTE, partner, rank, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, &
                              code)
    call check_code(code, 'MPI_Sendrecv_replace')
    call check_status(status, partner, partner, n)
    call check_bytes(in, n, partner, sent)
    call free_buffers()
  end subroutine

  ! Probe and Mprobe with wildcards tell the true size; Recv and Mrecv bring the message.
  subroutine probed(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:), matched(:)
    REQUEST :: requests(2), receive
    MESSAGE :: message
    STATUS(status)
    integer :: code, sent
    logical :: is_there
    call begin_test('MPI_Probe')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    matched => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Isend(in, n, MPI_BYTE, partner, 11, MPI_COMM_WORLD, requests(1), code)
    call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, code)
    call check_code(code, 'MPI_Probe')
    call check_status(status, partner, 11, n)
    call MPI_Recv(out, n, MPI_BYTE, SOURCE_OF(status), TAG_OF(status), MPI_COMM_WORLD, status, code)
    call check_status(status, partner, 11, n)
    call check_bytes(out, n, partner, sent)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)

    call begin_test('MPI_Mprobe')
    call poison(out)
    call MPI_Isend(in, n, MPI_BYTE, partner, 12, MPI_COMM_WORLD, requests(1), code)
    call MPI_Isend(in, n, MPI_BYTE, partner, 13, MPI_COMM_WORLD, requests(2), code)
    call MPI_Mprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, message, status, code)
    call check_status(status, partner, 12, n)
    call MPI_Mrecv(out, n, MPI_BYTE, message, status, code)
    call check_code(code, 'MPI_Mrecv')
    call check_status(status, partner, 12, n)
    call check_bytes(out, n, partner, sent)
    is_there = .false.
    do while (.not. is_there)
      call MPI_Improbe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, is_there, message, status, code)
    end do
    call MPI_Imrecv(matched, n, MPI_BYTE, message, receive, code)
    call check_code(code, 'MPI_Imrecv')
    call MPI_Wait(receive, status, code)
    call check_status(status, partner, 13, n)
    call check_bytes(matched, n, partner, sent)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    call free_buffers()
  end subroutine

  ! A request that is freed while it is active still delivers; MPI_PROC_NULL and zero bytes move nothing.
  subroutine freed(send_kind, recv_kind, n)
#include "mpi_interface.inc"
    integer, intent(in) :: send_kind, recv_kind, n
    integer(c_int8_t), pointer, contiguous :: in(:), out(:)
    REQUEST :: request
    STATUS(status)
    integer :: code, sent
    call begin_test('MPI_Request_free')
    in => new_buffer(send_kind, n)
    out => new_buffer(recv_kind, n)
    sent = next_iteration()
    call fill(in, rank, sent)
    call MPI_Isend(in, n, MPI_BYTE, partner, 21, MPI_COMM_WORLD, request, code)
    call MPI_Request_free(request, code)
    call check_code(code, 'MPI_Request_free')
    call check(request == MPI_REQUEST_NULL, 'the freed request is not MPI_REQUEST_NULL')
    call MPI_Recv(out, n, MPI_BYTE, partner, 21, MPI_COMM_WORLD, status, code)
    call check_status(status, partner, 21, n)
    call check_bytes(out, n, partner, sent)

    call begin_test('MPI_PROC_NULL')
    call poison(out)
    call MPI_Send(in, n, MPI_BYTE, MPI_PROC_NULL, 22, MPI_COMM_WORLD, code)
    call MPI_Recv(out, n, MPI_BYTE, MPI_PROC_NULL, 22, MPI_COMM_WORLD, status, code)
    call check_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
    call check_bytes(out, 0, partner, sent)
    call MPI_Sendrecv(in, 0, MPI_BYTE, partner, 23, out, n, MPI_BYTE, partner, 23, MPI_COMM_WORLD, status, code)
    call check_status(status, partner, 23, 0)
    call check_bytes(out, 0, partner, sent)
    call free_buffers()
  end subroutine

end module
