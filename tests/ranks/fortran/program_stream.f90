! SPDX-License-Identifier: BSD-3-Clause
! A stream as a program has it, from the backend that device_memory has opened (device_memory.cpp).
module program_stream
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: new_stream, free_stream, synchronize

  interface
    function c_new_stream() bind(c, name='test_stream_new')
      import
      type(c_ptr) :: c_new_stream
    end function
    function c_free_stream(stream) bind(c, name='test_stream_free')
      import
      type(c_ptr), value :: stream
      integer(c_int) :: c_free_stream
    end function
    function c_synchronize(stream) bind(c, name='test_stream_synchronize')
      import
      type(c_ptr), value :: stream
      integer(c_int) :: c_synchronize
    end function
  end interface

contains

  function new_stream() result(stream)
    type(c_ptr) :: stream
    stream = c_new_stream()
    if (.not. c_associated(stream)) error stop 'no stream to test with'
  end function

  subroutine free_stream(stream)
    type(c_ptr), intent(in) :: stream
    if (c_free_stream(stream) /= 0) error stop 'a stream could not be freed'
  end subroutine

  subroutine synchronize(stream)
    type(c_ptr), intent(in) :: stream
    if (c_synchronize(stream) /= 0) error stop 'a stream could not be waited for'
  end subroutine

end module
