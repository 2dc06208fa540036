! SPDX-License-Identifier: BSD-3-Clause
! The functions of sluice/queue.h for Fortran. The header says what each does; docs/queue/guide.md has the rules that
! Fortran adds.
! Compile this file with the program: each compiler has modules of its own. It needs no module of MPI.
!
! Two modules: sluice_queue, and sluice_queue_vendor_form, where each message brings its communicator, as in C with
! SLUICE_QUEUE_VENDOR_FORM. Use one of them in a scope.
!
! Handles are integers, as in mpif.h and `use mpi`; with `use mpi_f08` give comm%MPI_VAL, MPI_BYTE%MPI_VAL and
! request%MPI_VAL. A queue and a stream are type(c_ptr). Buffers are contiguous arrays of any type, host or device
! memory; not a scalar, not an array section with a stride (the compiler would pass a copy), and not MPI_BOTTOM or
! MPI_IN_PLACE, which are other addresses in Fortran than in C. They are asynchronous until the request is complete.
module sluice_queue
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_null_ptr, c_ptr
  implicit none
  private
  public :: mpix_queue_null
  public :: mpix_create_queue, mpix_free_queue, mpix_enqueue_start, mpix_enqueue_wait
  public :: mpix_enqueue_send, mpix_enqueue_recv
  public :: mpix_enqueue_allreduce, mpix_enqueue_bcast, mpix_enqueue_allgather, mpix_enqueue_barrier
  public :: mpix_enqueue_put, mpix_enqueue_get, mpix_enqueue_signal, mpix_enqueue_wait_signal
  public :: sluice_enqueue_persistent
  public :: sluice_queue_create, sluice_queue_send, sluice_queue_recv

  type(c_ptr), parameter :: mpix_queue_null = c_null_ptr

  interface
    function c_create(comm, stream, queue) bind(c, name='sluice_queue_create_f')
      import
      integer(c_int), value :: comm
      type(c_ptr), value :: stream
      type(c_ptr), intent(out) :: queue
      integer(c_int) :: c_create
    end function
    function c_free(queue) bind(c, name='MPIX_Free_queue')
      import
      type(c_ptr), value :: queue
      integer(c_int) :: c_free
    end function
    function c_start(queue) bind(c, name='MPIX_Enqueue_start')
      import
      type(c_ptr), value :: queue
      integer(c_int) :: c_start
    end function
    function c_wait(queue) bind(c, name='MPIX_Enqueue_wait')
      import
      type(c_ptr), value :: queue
      integer(c_int) :: c_wait
    end function
    function c_send(buf, count, datatype, dest, tag, queue, request) bind(c, name='sluice_queue_send_f')
      import
      type(*), intent(in), asynchronous :: buf(*)
      integer(c_int), value :: count, datatype, dest, tag
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_send
    end function
    function c_recv(buf, count, datatype, source, tag, queue, request) bind(c, name='sluice_queue_recv_f')
      import
      type(*), asynchronous :: buf(*)
      integer(c_int), value :: count, datatype, source, tag
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_recv
    end function
    function c_allreduce(sendbuf, recvbuf, count, datatype, op, queue, request) bind(c, name='sluice_queue_allreduce_f')
      import
      type(*), intent(in), asynchronous :: sendbuf(*)
      type(*), asynchronous :: recvbuf(*)
      integer(c_int), value :: count, datatype, op
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_allreduce
    end function
    function c_bcast(buffer, count, datatype, root, queue, request) bind(c, name='sluice_queue_bcast_f')
      import
      type(*), asynchronous :: buffer(*)
      integer(c_int), value :: count, datatype, root
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_bcast
    end function
    function c_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, queue, request) &
        bind(c, name='sluice_queue_allgather_f')
      import
      type(*), intent(in), asynchronous :: sendbuf(*)
      type(*), asynchronous :: recvbuf(*)
      integer(c_int), value :: sendcount, sendtype, recvcount, recvtype
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_allgather
    end function
    function c_put(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, queue, &
                   request) bind(c, name='sluice_queue_put_f')
      import
      type(*), intent(in), asynchronous :: origin(*)
      integer(c_int), value :: origin_count, origin_type, target_rank, target_count, target_type, win
      integer(c_intptr_t), value :: target_disp
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_put
    end function
    function c_get(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, queue, &
                   request) bind(c, name='sluice_queue_get_f')
      import
      type(*), asynchronous :: origin(*)
      integer(c_int), value :: origin_count, origin_type, target_rank, target_count, target_type, win
      integer(c_intptr_t), value :: target_disp
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_get
    end function
    function c_signal(target_rank, win, queue, request) bind(c, name='sluice_queue_signal_f')
      import
      integer(c_int), value :: target_rank, win
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_signal
    end function
    function c_wait_signal(source_rank, win, queue, request) bind(c, name='sluice_queue_wait_signal_f')
      import
      integer(c_int), value :: source_rank, win
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_wait_signal
    end function
    function c_create_alone(stream, queue) bind(c, name='sluice_queue_create')
      import
      type(c_ptr), value :: stream
      type(c_ptr), intent(out) :: queue
      integer(c_int) :: c_create_alone
    end function
    function c_send_on(buf, count, datatype, dest, tag, comm, queue, request) bind(c, name='sluice_queue_send_on_f')
      import
      type(*), intent(in), asynchronous :: buf(*)
      integer(c_int), value :: count, datatype, dest, tag, comm
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_send_on
    end function
    function c_recv_on(buf, count, datatype, source, tag, comm, queue, request) bind(c, name='sluice_queue_recv_on_f')
      import
      type(*), asynchronous :: buf(*)
      integer(c_int), value :: count, datatype, source, tag, comm
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_recv_on
    end function
    function c_persistent(persistent, queue, request) bind(c, name='sluice_queue_persistent_f')
      import
      integer(c_int), value :: persistent
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_persistent
    end function
    function c_barrier(queue, request) bind(c, name='sluice_queue_barrier_f')
      import
      type(c_ptr), value :: queue
      integer(c_int), intent(inout) :: request
      integer(c_int) :: c_barrier
    end function
  end interface

contains

  subroutine mpix_create_queue(comm, stream, queue, ierror)
    integer, intent(in) :: comm
    type(c_ptr), intent(in) :: stream
    type(c_ptr), intent(out) :: queue
    integer, intent(out) :: ierror
    ierror = c_create(comm, stream, queue)
  end subroutine

  subroutine mpix_free_queue(queue, ierror)
    type(c_ptr), intent(in) :: queue
    integer, intent(out) :: ierror
    ierror = c_free(queue)
  end subroutine

  subroutine mpix_enqueue_send(buf, count, datatype, dest, tag, queue, request, ierror)
    type(*), intent(in), asynchronous :: buf(*)
    integer, intent(in) :: count, datatype, dest, tag
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_send(buf, count, datatype, dest, tag, queue, request)
  end subroutine

  subroutine mpix_enqueue_recv(buf, count, datatype, source, tag, queue, request, ierror)
    type(*), asynchronous :: buf(*)
    integer, intent(in) :: count, datatype, source, tag
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_recv(buf, count, datatype, source, tag, queue, request)
  end subroutine

  subroutine mpix_enqueue_start(queue, ierror)
    type(c_ptr), intent(in) :: queue
    integer, intent(out) :: ierror
    ierror = c_start(queue)
  end subroutine

  subroutine mpix_enqueue_wait(queue, ierror)
    type(c_ptr), intent(in) :: queue
    integer, intent(out) :: ierror
    ierror = c_wait(queue)
  end subroutine

  subroutine mpix_enqueue_allreduce(sendbuf, recvbuf, count, datatype, op, queue, request, ierror)
    type(*), intent(in), asynchronous :: sendbuf(*)
    type(*), asynchronous :: recvbuf(*)
    integer, intent(in) :: count, datatype, op
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_allreduce(sendbuf, recvbuf, count, datatype, op, queue, request)
  end subroutine

  subroutine mpix_enqueue_bcast(buffer, count, datatype, root, queue, request, ierror)
    type(*), asynchronous :: buffer(*)
    integer, intent(in) :: count, datatype, root
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_bcast(buffer, count, datatype, root, queue, request)
  end subroutine

  subroutine mpix_enqueue_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, queue, request, ierror)
    type(*), intent(in), asynchronous :: sendbuf(*)
    type(*), asynchronous :: recvbuf(*)
    integer, intent(in) :: sendcount, sendtype, recvcount, recvtype
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, queue, request)
  end subroutine

  subroutine mpix_enqueue_barrier(queue, request, ierror)
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_barrier(queue, request)
  end subroutine

  subroutine mpix_enqueue_put(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, &
                              queue, request, ierror)
    type(*), intent(in), asynchronous :: origin(*)
    integer, intent(in) :: origin_count, origin_type, target_rank, target_count, target_type, win
    integer(c_intptr_t), intent(in) :: target_disp
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_put(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, &
                   queue, request)
  end subroutine

  subroutine mpix_enqueue_get(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, &
                              queue, request, ierror)
    type(*), asynchronous :: origin(*)
    integer, intent(in) :: origin_count, origin_type, target_rank, target_count, target_type, win
    integer(c_intptr_t), intent(in) :: target_disp
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_get(origin, origin_count, origin_type, target_rank, target_disp, target_count, target_type, win, &
                   queue, request)
  end subroutine

  subroutine mpix_enqueue_signal(target_rank, win, queue, request, ierror)
    integer, intent(in) :: target_rank, win
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_signal(target_rank, win, queue, request)
  end subroutine

  subroutine mpix_enqueue_wait_signal(source_rank, win, queue, request, ierror)
    integer, intent(in) :: source_rank, win
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_wait_signal(source_rank, win, queue, request)
  end subroutine

  subroutine sluice_enqueue_persistent(persistent, queue, request, ierror)
    integer, intent(in) :: persistent
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_persistent(persistent, queue, request)
  end subroutine

  ! The vendor's form.

  subroutine sluice_queue_create(stream, queue, ierror)
    type(c_ptr), intent(in) :: stream
    type(c_ptr), intent(out) :: queue
    integer, intent(out) :: ierror
    ierror = c_create_alone(stream, queue)
  end subroutine

  subroutine sluice_queue_send(buf, count, datatype, dest, tag, comm, queue, request, ierror)
    type(*), intent(in), asynchronous :: buf(*)
    integer, intent(in) :: count, datatype, dest, tag, comm
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_send_on(buf, count, datatype, dest, tag, comm, queue, request)
  end subroutine

  subroutine sluice_queue_recv(buf, count, datatype, source, tag, comm, queue, request, ierror)
    type(*), asynchronous :: buf(*)
    integer, intent(in) :: count, datatype, source, tag, comm
    type(c_ptr), intent(in) :: queue
    integer, intent(inout) :: request
    integer, intent(out) :: ierror
    ierror = c_recv_on(buf, count, datatype, source, tag, comm, queue, request)
  end subroutine

end module

! mpix_create_queue(stream, queue, ierror) and mpix_enqueue_send(buf, count, datatype, dest, tag, comm, queue, request,
! ierror), and the same for a receive. Its queues have no communicator, and so no collective operations.
module sluice_queue_vendor_form
  use sluice_queue, only: mpix_queue_null, mpix_free_queue, mpix_enqueue_start, mpix_enqueue_wait, &
                          mpix_enqueue_put, mpix_enqueue_get, mpix_enqueue_signal, mpix_enqueue_wait_signal, &
                          sluice_enqueue_persistent, mpix_create_queue => sluice_queue_create, &
                          mpix_enqueue_send => sluice_queue_send, mpix_enqueue_recv => sluice_queue_recv
  implicit none
  public
end module
