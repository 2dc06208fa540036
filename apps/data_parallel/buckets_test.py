# SPDX-License-Identifier: BSD-3-Clause
"""What data_parallel decides without a device."""

import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import buckets  # noqa: E402  (found through the line above)


class Assignment(unittest.TestCase):
    def test_every_parameter_is_in_one_bucket_and_none_is_too_long(self):
        source = random.Random(1)
        for _ in range(200):
            sizes = [source.randrange(1, 100) for _ in range(source.randrange(0, 30))]
            limit = source.randrange(1, 150)
            made = buckets.assign(sizes, limit)
            self.assertEqual([number for one in made for number in one], list(reversed(range(len(sizes)))))
            for one in made:
                self.assertTrue(len(one) == 1 or sum(sizes[number] for number in one) <= limit)

    def test_neighbours_share_a_bucket_while_there_is_room(self):
        self.assertEqual(buckets.assign([10, 10, 10, 50, 4], 20), [[4], [3], [2, 1], [0]])


class Leaving(unittest.TestCase):
    def test_buckets_leave_in_order_whatever_is_ready_first(self):
        made = buckets.assign([1] * 7, 2)
        order = buckets.Order(made)
        source = random.Random(2)
        for _ in range(50):
            order.begin()
            ready = list(range(7))
            source.shuffle(ready)
            left = []
            for number in ready:
                self.assertFalse(order.is_complete())
                for bucket in order.mark(number):
                    self.assertTrue(set(made[bucket]) <= set(ready[:ready.index(number) + 1]))
                    left.append(bucket)
            self.assertEqual(left, list(range(len(made))))
            self.assertTrue(order.is_complete())

    def test_a_gradient_that_is_ready_twice_is_an_error(self):
        order = buckets.Order([[0, 1]])
        order.mark(0)
        with self.assertRaises(ValueError):
            order.mark(0)


class Losses(unittest.TestCase):
    def test_difference_is_the_largest_of_all_steps(self):
        self.assertEqual(buckets.largest_difference([2.0, 4.0], [2.0, 4.0]), 0)
        self.assertAlmostEqual(buckets.largest_difference([2.0, 4.0], [2.0, 5.0]), 0.25)

    def test_runs_that_cannot_be_compared_differ_without_bound(self):
        for others in ([], [1.0], [1.0, float("nan")]):
            self.assertEqual(buckets.largest_difference([1.0, 1.0], others), float("inf"))


if __name__ == "__main__":
    unittest.main()
