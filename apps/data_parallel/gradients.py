# SPDX-License-Identifier: BSD-3-Clause
"""The gradients of a model in buckets, which leave while the backward pass goes on."""

import time

import torch

from buckets import Order, assign


class Gradients:
    """Gives each parameter's gradient a place in its bucket, so that nothing is packed: a bucket is one tensor."""

    def __init__(self, model, exchange, bucket_bytes):
        self.exchange = exchange
        parameters = list(model.parameters())
        numbers = assign([parameter.numel() * parameter.element_size() for parameter in parameters], bucket_bytes)
        self.order = Order(numbers)
        self.flats = []
        for bucket in numbers:
            own = [parameters[number] for number in bucket]
            flat = torch.zeros(sum(one.numel() for one in own), dtype=own[0].dtype, device=own[0].device)
            for one, part in zip(own, flat.split([one.numel() for one in own])):
                one.grad = part.view_as(one)
            self.flats.append(flat)
        for number, parameter in enumerate(parameters):
            parameter.register_post_accumulate_grad_hook(lambda _, number=number: self._ready(number))
        self.before = None  # copies of the buckets as they left, where a check has asked for them

    def begin(self, is_checked=False):
        """Of a step, before its backward pass."""
        self.order.begin()
        self.before = {} if is_checked else None
        for flat in self.flats:
            flat.zero_()

    def _ready(self, number):
        for bucket in self.order.mark(number):
            flat = self.flats[bucket]
            if self.before is not None:
                self.before[bucket] = flat.cpu().clone()
            self.exchange.enqueue(bucket, flat)

    def finish(self):
        """Behind the backward pass: all buckets are sums. Returns the seconds that the program had to wait."""
        if not self.order.is_complete():
            raise RuntimeError("a parameter took no part in the loss: its bucket has not left")
        begin = time.perf_counter()
        self.exchange.wait()
        return time.perf_counter() - begin
