# SPDX-License-Identifier: BSD-3-Clause
"""Tensors as MPI takes them."""

import torch
from mpi4py import MPI
from torch.distributed import ReduceOp

import sluice

TYPES = {
    torch.float32: MPI.FLOAT, torch.float64: MPI.DOUBLE, torch.complex64: MPI.C_FLOAT_COMPLEX,
    torch.complex128: MPI.C_DOUBLE_COMPLEX, torch.int8: MPI.INT8_T, torch.uint8: MPI.UINT8_T, torch.int16: MPI.INT16_T,
    torch.int32: MPI.INT32_T, torch.int64: MPI.INT64_T, torch.bool: MPI.UINT8_T,
}
# MPI has no such types: they are summed as float.
HALVES = (torch.float16, torch.bfloat16)
# PyTorch's, MPI's, and MPI's for truths, which are bytes of 0 and 1.
OPERATIONS = ((ReduceOp.SUM, MPI.SUM, MPI.MAX), (ReduceOp.AVG, MPI.SUM, None), (ReduceOp.PRODUCT, MPI.PROD, MPI.MIN),
              (ReduceOp.MIN, MPI.MIN, MPI.MIN), (ReduceOp.MAX, MPI.MAX, MPI.MAX), (ReduceOp.BAND, MPI.BAND, MPI.MIN),
              (ReduceOp.BOR, MPI.BOR, MPI.MAX), (ReduceOp.BXOR, MPI.BXOR, MPI.BXOR))
_TAKEN = {}  # the types of devices whose memory this MPI takes


def backend_of(device_type):
    """Sluice's name for what PyTorch calls a type of devices."""
    if device_type == "cuda":
        return "hip" if torch.version.hip else "cuda"
    return {"xpu": "sycl"}.get(device_type, device_type)


def check(*tensors):
    """Raises where MPI cannot be given the tensors as they are."""
    for tensor in tensors:
        if not tensor.is_contiguous() or tensor.is_sparse:
            raise ValueError("the backend sluice takes dense, contiguous tensors; call contiguous() first")
        kind = tensor.device.type
        if kind != "cpu" and not _TAKEN.get(kind):
            _TAKEN[kind] = sluice.takes_memory_of(backend_of(kind))
            if not _TAKEN[kind]:
                raise RuntimeError(f"tensors are on {tensor.device}, and MPI of this process does not take such memory; "
                                   "start the program by `sluice run`, and ask `sluice doctor` what is wrong")


def raw(tensor):
    """The bytes of a contiguous tensor, wherever they lie."""
    size_bytes = tensor.numel() * tensor.element_size()
    return MPI.buffer.fromaddress(tensor.data_ptr() if size_bytes else 0, size_bytes)


def overlap(one, other):
    """Whether two contiguous tensors have bytes in common, which MPI forbids."""
    begins = one.data_ptr(), other.data_ptr()
    sizes = [tensor.numel() * tensor.element_size() for tensor in (one, other)]
    return all(sizes) and begins[0] < begins[1] + sizes[1] and begins[1] < begins[0] + sizes[0]


def as_bytes(tensor):
    return [raw(tensor), tensor.numel() * tensor.element_size(), MPI.BYTE]


def as_items(tensor):
    """With its MPI type, for reductions."""
    return [raw(tensor), tensor.numel(), TYPES[tensor.dtype]]


class Reduction:
    """A reduction on tensors of one type: what MPI is to be given for them, and what is left to do."""

    def __init__(self, wanted, dtype, n_ranks):
        found = [row for row in OPERATIONS if wanted == row[0]]
        if not found:
            raise ValueError(f"the backend sluice has no reduction {wanted}")
        self.operation = found[0][2] if dtype == torch.bool else found[0][1]
        self.divisor = n_ranks if wanted == ReduceOp.AVG else 1
        self.is_widened = dtype in HALVES
        if dtype not in TYPES and not self.is_widened:
            raise ValueError(f"the backend sluice reduces no {dtype}")
        if self.divisor != 1 and not dtype.is_floating_point and not dtype.is_complex:
            raise ValueError("an average is of floating-point numbers")

    def begin(self, tensor):
        """What MPI reads, or reads and writes. `tensor` is settled."""
        if not self.is_widened:
            return tensor
        made = tensor.float()
        settle(made)
        return made

    def like(self, tensor):
        """What MPI writes in the place of `tensor`."""
        return torch.empty_like(tensor, dtype=torch.float32) if self.is_widened else tensor

    def end(self, made, tensor):
        """`made`, which MPI wrote, becomes the result in `tensor`."""
        if self.divisor != 1:
            made.div_(self.divisor)
        if made is not tensor:
            tensor.copy_(made)


def settle(tensor):
    """Waits for what the thread's own stream was given: MPI knows no streams."""
    if tensor.device.type != "cpu":
        getattr(torch, tensor.device.type).current_stream(tensor.device).synchronize()
