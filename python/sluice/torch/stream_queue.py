# SPDX-License-Identifier: BSD-3-Clause
"""A queue of sluice/queue.h in Python: puts and signals that a stream carries out in its order, while the host goes on."""

import collections
import ctypes

from mpi4py import MPI

_MPI_ABI = {4: ctypes.c_int, 8: ctypes.c_void_p}  # handles are numbers, or pointers


def _type_of(mpi_class):
    return _MPI_ABI[MPI._sizeof(mpi_class)]  # pylint: disable=protected-access  (mpi4py documents it)


def _handle(thing):
    return _type_of(type(thing)).from_address(MPI._addressof(thing))  # pylint: disable=protected-access


_REQUEST = _type_of(MPI.Request)
_AINT = ctypes.c_ssize_t


def _functions():
    """The library's and MPI's functions with their arguments, or None where this process has no queues."""
    library = ctypes.CDLL(None)
    pointer, request = ctypes.c_void_p, ctypes.POINTER(_REQUEST)
    datatype, window = _type_of(MPI.Datatype), _type_of(MPI.Win)
    arguments = {
        "MPIX_Create_queue": [_type_of(MPI.Comm), pointer, ctypes.POINTER(pointer)],
        "MPIX_Free_queue": [pointer],
        "MPIX_Enqueue_put": [pointer, ctypes.c_int, datatype, ctypes.c_int, _AINT, ctypes.c_int, datatype, window,
                             pointer, request],
        "MPIX_Enqueue_signal": [ctypes.c_int, window, pointer, request],
        "MPIX_Enqueue_wait_signal": [ctypes.c_int, window, pointer, request],
        "MPIX_Enqueue_start": [pointer],
        "MPIX_Enqueue_wait": [pointer],
        "MPI_Testall": [ctypes.c_int, request, ctypes.POINTER(ctypes.c_int), pointer],
        "MPI_Waitall": [ctypes.c_int, request, pointer],
    }
    found = {}
    for name, types in arguments.items():
        function = getattr(library, name, None)
        if function is None:
            return None
        function.argtypes = types
        found[name] = function
    return found


_FOUND = _functions()


def is_there():
    """Whether the library in this process has queues."""
    return _FOUND is not None


def _call(name, *arguments):
    code = _FOUND[name](*arguments)
    if code != MPI.SUCCESS:
        raise RuntimeError(f"{name}: {MPI.Get_error_string(code)}")


class Queue:
    """Of the stream with that native handle, with messages on `communicator` and puts into `window`. One thread at a
    time. Nothing here waits for the stream but drain(); errors of what the stream came to later are raised by reap()."""

    def __init__(self, communicator, window, stream):
        self._window = _handle(window)
        self._byte = _handle(MPI.BYTE)
        self._queue = ctypes.c_void_p()
        self._statuses = ctypes.create_string_buffer(0)  # nobody reads them: MPI_STATUSES_IGNORE is a macro
        self._batch = []
        self._under_way = collections.deque()  # arrays of requests, the oldest first
        _call("MPIX_Create_queue", _handle(communicator), stream, ctypes.byref(self._queue))

    def _request(self):
        self._batch.append(_REQUEST())
        return ctypes.byref(self._batch[-1])

    def put(self, address, size_bytes, rank, displacement):
        _call("MPIX_Enqueue_put", address, size_bytes, self._byte, rank, displacement, size_bytes, self._byte,
              self._window, self._queue, self._request())

    def signal(self, rank):
        """Behind the puts to that rank."""
        _call("MPIX_Enqueue_signal", rank, self._window, self._queue, self._request())

    def wait_signal(self, rank):
        _call("MPIX_Enqueue_wait_signal", rank, self._window, self._queue, self._request())

    def run(self):
        """The stream carries out all that was enqueued, and then what it is given behind."""
        _call("MPIX_Enqueue_start", self._queue)
        _call("MPIX_Enqueue_wait", self._queue)
        self._under_way.append((_REQUEST * len(self._batch))(*self._batch))
        self._batch.clear()

    def reap(self):
        """Forgets what is complete. RuntimeError: some of it failed."""
        is_done = ctypes.c_int(1)
        while self._under_way:
            requests = self._under_way[0]
            _call("MPI_Testall", len(requests), requests, ctypes.byref(is_done), self._room_for_statuses(len(requests)))
            if not is_done.value:
                return
            self._under_way.popleft()

    def drain(self):
        """Waits until all is complete. RuntimeError: some of it failed."""
        while self._under_way:
            requests = self._under_way.popleft()
            _call("MPI_Waitall", len(requests), requests, self._room_for_statuses(len(requests)))

    def free(self):
        """Behind drain()."""
        _call("MPIX_Free_queue", self._queue)

    def _room_for_statuses(self, n):
        size_bytes = n * MPI._sizeof(MPI.Status)  # pylint: disable=protected-access
        if len(self._statuses) < size_bytes:
            self._statuses = ctypes.create_string_buffer(size_bytes)
        return self._statuses
