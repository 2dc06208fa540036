# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in memory of the emulated device for mpi4py's own suite, which then runs on nothing else.

The suite takes the kinds of its arrays from the list `arrayimpl.ArrayBackends`; this puts one of ours there. The CPU
cannot touch the memory: each element that a test looks at or sets is copied.
"""
import array
import ctypes
import math


def open_device(library):
    """The functions of the emulated device's library, each of which raises what the device says."""
    runtime = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    runtime.emu_last_error_text.restype = ctypes.c_char_p

    def check(result, _function, _arguments):
        if result != 0:
            raise MemoryError(runtime.emu_last_error_text().decode())

    for function in (runtime.emu_malloc_device, runtime.emu_memcpy, runtime.emu_free):
        function.errcheck = check
    return runtime


def use_device_arrays(runtime):
    """To be called when the suite's folder is on the path, before its tests are loaded."""
    import arrayimpl  # of the suite

    class DeviceArray(arrayimpl.BaseArray):
        backend = "device"
        address = None  # until the memory is there

        def __init__(self, arg, typecode, shape=None, readonly=False):
            shape = (shape,) if isinstance(shape, (int, float)) else shape
            if isinstance(arg, (int, float)):
                shape = () if shape is None else tuple(int(n) for n in shape)
                host = array.array(typecode, [arg] * math.prod(shape))
            else:
                host = array.array(typecode, arg)
                shape = (len(host),) if shape is None else tuple(int(n) for n in shape)
            self.typecode, self.itemsize, self.size = typecode, host.itemsize, len(host)
            memory = ctypes.c_void_p()
            runtime.emu_malloc_device(ctypes.c_size_t(max(1, self.size * self.itemsize)), ctypes.byref(memory))
            self.address = memory.value
            self.write(0, host)
            self.__cuda_array_interface__ = {"version": 0, "data": (self.address, readonly), "shape": shape,
                                             "typestr": arrayimpl.typestr(typecode, self.itemsize)}

        def __del__(self):
            if self.address is not None:
                runtime.emu_free(ctypes.c_void_p(self.address))

        def write(self, first, host):
            if len(host) != 0:
                runtime.emu_memcpy(ctypes.c_void_p(self.address + first * self.itemsize), ctypes.c_void_p(host.buffer_info()[0]),
                                   ctypes.c_size_t(len(host) * self.itemsize))

        def read(self):
            host = array.array(self.typecode, bytes(self.size * self.itemsize))
            if self.size != 0:
                runtime.emu_memcpy(ctypes.c_void_p(host.buffer_info()[0]), ctypes.c_void_p(self.address),
                                   ctypes.c_size_t(self.size * self.itemsize))
            return host

        array = property(read)
        flat = property(lambda self: self)  # elements are set through it, too

        def __len__(self):
            return self.size

        def __iter__(self):
            return iter(self.read())

        def __setitem__(self, i, value):
            host = self.read()
            host[i] = value
            self.write(0, host)

        def as_raw(self):
            return self

    arrayimpl.ArrayBackends[:] = [DeviceArray]
