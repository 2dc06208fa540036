! SPDX-License-Identifier: BSD-3-Clause
! The Fortran side of device_memory.cpp, and the bookkeeping of a test program: which test, how many checks failed.
! Without MPI, so that it serves every interface.
module device_memory
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: open_memory, new_buffer, free_buffers, fill, poison, check_bytes, check_runs, check, check_equal
  public :: begin_test, n_failed, host_kind, device_kind

  integer, parameter :: host_kind = 0, device_kind = 1
  integer, protected :: n_failed = 0
  character(len=80), save :: test_name = ''

  interface
    function c_open(backend) bind(c, name='test_memory_open')
      import
      character(kind=c_char), intent(in) :: backend(*)
      integer(c_int) :: c_open
    end function
    function c_new(is_device, size_bytes) bind(c, name='test_memory_new')
      import
      integer(c_int), value :: is_device
      integer(c_int64_t), value :: size_bytes
      type(c_ptr) :: c_new
    end function
    subroutine c_free_all() bind(c, name='test_memory_free_all')
    end subroutine
    subroutine c_fill(address, rank, iteration) bind(c, name='test_memory_fill')
      import
      type(c_ptr), value :: address
      integer(c_int), value :: rank, iteration
    end subroutine
    subroutine c_poison(address) bind(c, name='test_memory_poison')
      import
      type(c_ptr), value :: address
    end subroutine
    function c_check(address, rank, iteration, n_runs, run_bytes, stride_bytes) bind(c, name='test_memory_check')
      import
      type(c_ptr), value :: address
      integer(c_int), value :: rank, iteration
      integer(c_int64_t), value :: n_runs, run_bytes, stride_bytes
      integer(c_int) :: c_check
    end function
  end interface

contains

  logical function open_memory(backend)
    character(len=*), intent(in) :: backend
    open_memory = c_open(trim(backend)//c_null_char) /= 0
  end function

  ! `n` bytes of memory of that kind, full of poison. Fortran never touches what is behind the pointer.
  function new_buffer(kind, n) result(buffer)
    integer, intent(in) :: kind, n
    integer(c_int8_t), pointer, contiguous :: buffer(:)
    type(c_ptr) :: address
    address = c_new(int(kind, c_int), int(n, c_int64_t))
    if (.not. c_associated(address)) error stop 'no memory to test with'
    call c_f_pointer(address, buffer, [n])
  end function

  subroutine free_buffers()
    call c_free_all()
  end subroutine

  subroutine fill(buffer, rank, iteration)
    integer(c_int8_t), pointer, contiguous, intent(in) :: buffer(:)
    integer, intent(in) :: rank, iteration
    call c_fill(c_loc(buffer), int(rank, c_int), int(iteration, c_int))
  end subroutine

  subroutine poison(buffer)
    integer(c_int8_t), pointer, contiguous, intent(in) :: buffer(:)
    call c_poison(c_loc(buffer))
  end subroutine

  ! The first `n` bytes are what `rank` sent in `iteration`; what lies behind and around is untouched.
  subroutine check_bytes(buffer, n, rank, iteration)
    integer(c_int8_t), pointer, contiguous, intent(in) :: buffer(:)
    integer, intent(in) :: n, rank, iteration
    call check_runs(buffer, rank, iteration, 1, n, n)
  end subroutine

  ! As above for `n_runs` runs of `run` bytes, one each `stride` bytes; see device_memory.cpp.
  subroutine check_runs(buffer, rank, iteration, n_runs, run, stride)
    integer(c_int8_t), pointer, contiguous, intent(in) :: buffer(:)
    integer, intent(in) :: rank, iteration, n_runs, run, stride
    call check(c_check(c_loc(buffer), int(rank, c_int), int(iteration, c_int), int(n_runs, c_int64_t), &
                       int(run, c_int64_t), int(stride, c_int64_t)) /= 0, 'the received bytes')
  end subroutine

  subroutine begin_test(name)
    character(len=*), intent(in) :: name
    test_name = name
  end subroutine

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(len=*), intent(in) :: what
    if (is_right) return
    n_failed = n_failed + 1
    print '(4a)', 'FAILED ', trim(test_name), ': ', what
  end subroutine

  subroutine check_equal(actual, expected, what)
    integer, intent(in) :: actual, expected
    character(len=*), intent(in) :: what
    character(len=120) :: text
    if (actual == expected) return
    write (text, '(2a,i0,a,i0)') what, ' is ', actual, ', expected ', expected
    call check(.false., trim(text))
  end subroutine

end module
