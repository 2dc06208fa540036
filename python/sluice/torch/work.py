# SPDX-License-Identifier: BSD-3-Clause
"""The works of the backend, and the threads that carry them out."""

import queue
import threading

import torch
from mpi4py import MPI
from torch.distributed import Work as TorchWork


class Work(TorchWork):
    """What an operation gives back. Its data is in place when wait() returns: for the host and for all streams."""

    def __init__(self, tensors):
        super().__init__()
        self._tensors = tensors
        self._is_done = threading.Event()
        self._error = None
        self._lock = threading.Lock()
        self._future = None

    def wait(self, timeout=None):
        """Blocks the host. RuntimeError: the operation failed, or the time is over."""
        seconds = timeout.total_seconds() if timeout else None
        if not self._is_done.wait(seconds if seconds and seconds > 0 else None):
            raise RuntimeError(f"an operation of the backend sluice is not complete after {seconds} s")
        if self._error is not None:
            raise RuntimeError(f"an operation of the backend sluice failed: {self._error}") from self._error
        return True

    @property
    def over(self):
        """The event that is set when the operation is over, well or not. Who keeps it keeps no tensor."""
        return self._is_done

    def is_completed(self):
        return self._is_done.is_set()

    def is_success(self):
        return self._is_done.is_set() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        self.wait()
        return self._tensors

    def get_future(self):
        with self._lock:
            if self._future is None:
                devices = sorted({tensor.device for tensor in self._tensors if tensor.device.type != "cpu"}, key=str)
                self._future = torch.futures.Future(devices=devices)
                if self._is_done.is_set():
                    self._settle_future()
            return self._future

    def finish(self, error=None):
        """By whoever carried the operation out."""
        with self._lock:
            self._error = error
            self._is_done.set()
            if self._future is not None:
                self._settle_future()

    def _settle_future(self):
        if self._error is not None:
            self._future.set_exception(self._error)
        else:
            self._future.set_result(self._tensors)


class Message(Work):
    """A message: a thread starts it, and wait() completes it."""

    def __init__(self, tensors):
        super().__init__(tensors)
        self._is_started = threading.Event()
        self._request = None
        self._asking = threading.Lock()
        self.source = -1  # of a receive that took any source, once it is complete

    def start(self, request):
        self._request = request
        self._is_started.set()

    def finish(self, error=None):
        super().finish(error)
        self._is_started.set()

    def wait(self, timeout=None):
        self._is_started.wait()
        self._look(MPI.Request.Wait)
        return super().wait(timeout)

    def is_completed(self):
        if self._is_started.is_set():
            self._look(MPI.Request.Test)
        return super().is_completed()

    def _source_rank(self):
        self.wait()
        return self.source

    def _look(self, ask):
        """Asks MPI, one thread at a time; once, if it says that the message is complete."""
        with self._asking:
            if self._request is None:
                return
            status = MPI.Status()
            try:
                if not ask(self._request, status):
                    return
            except MPI.Exception as error:
                self._request = None
                self.finish(error)
                return
            self._request, self.source = None, status.Get_source()
            self.finish()


class Worker:
    """A thread that carries operations out one after the other, in the order in which they were given. Before an
    operation it waits for what the calling thread's streams were given before. Any thread may give it something."""

    def __init__(self, name):
        self._jobs = queue.SimpleQueue()
        self._streams = {}
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def give(self, work, tensors, operation, behind=()):
        """`operation` is called in the thread, with a stream of the thread's own as the current one of the tensors'
        device, when the events of `behind` have come, too. What it raises is the work's error. If it returns True, the
        work is only started."""
        device = next((tensor.device for tensor in tensors if tensor.device.type != "cpu"), None)
        self._jobs.put((work, device, [*behind, *events_of(device)], operation))
        return work

    def end(self):
        """Returns when all is carried out that was given."""
        self._jobs.put(None)
        self._thread.join()

    def _serve(self):
        while (job := self._jobs.get()) is not None:
            self._carry_out(*job)
            del job  # and the tensors, before the next one is waited for

    def _carry_out(self, work, device, written, operation):
        try:
            is_under_way = self._run(device, written, operation)
        except Exception as error:  # pylint: disable=broad-except  (whoever waits for the work raises it)
            work.finish(error)
            return
        if not is_under_way:
            work.finish()

    def _run(self, device, written, operation):
        for event in written:
            event.synchronize()
        if device is None:
            return operation()
        module = getattr(torch, device.type)
        stream = self._streams.get(device)
        if stream is None:
            stream = self._streams[device] = module.Stream(device)
        with module.device(device), module.stream(stream):
            is_under_way = operation()
            stream.synchronize()
        return is_under_way


def events_of(device):
    """One behind all that the current stream of the device was given; none of no device."""
    if device is None:
        return []
    module = getattr(torch, device.type)
    event = module.Event()
    event.record(module.current_stream(device))
    return [event]
