# SPDX-License-Identifier: BSD-3-Clause
"""Which gradients travel together, and when a bucket may go: without a device, and without any library."""


def assign(sizes_bytes, bucket_bytes):
    """Numbers of parameters, bucket by bucket, of those that are ready first.

    The gradients of the last parameters are computed first. A bucket is full from bucket_bytes (at least 1) on; one that
    would end beyond that begins anew, unless it is empty.
    """
    buckets, room = [], 0
    for number in reversed(range(len(sizes_bytes))):
        if not buckets or room < sizes_bytes[number]:
            buckets.append([])
            room = bucket_bytes
        buckets[-1].append(number)
        room -= sizes_bytes[number]
    return buckets


class Order:
    """Buckets leave in one order on all ranks, whatever the order in which gradients become ready."""

    def __init__(self, buckets):
        self._buckets = buckets
        self._bucket_of = {number: k for k, numbers in enumerate(buckets) for number in numbers}
        self.begin()

    def begin(self):
        """Of a step."""
        self._missing = [set(numbers) for numbers in self._buckets]
        self._next = 0

    def mark(self, number):
        """A parameter's gradient is ready. Returns the buckets that may go now, in their order."""
        missing = self._missing[self._bucket_of[number]]
        if number not in missing:
            raise ValueError(f"the gradient of parameter {number} is ready twice in one step")
        missing.remove(number)
        first = self._next
        while self._next < len(self._buckets) and not self._missing[self._next]:
            self._next += 1
        return range(first, self._next)

    def is_complete(self):
        return self._next == len(self._buckets)


def largest_difference(losses, others):
    """Of two runs' losses, step by step, relative to the first. Infinite when they are not as many, or no numbers."""
    if len(losses) != len(others) or not losses:
        return float("inf")
    differences = [abs(one - other) / max(abs(one), 1e-30) for one, other in zip(losses, others)]
    return float("inf") if any(value != value for value in differences) else max(differences)
