# SPDX-License-Identifier: BSD-3-Clause
"""What the measurements of a question mean for its setting. Pure: numbers in, a value and a sentence out."""

import dataclasses
import math
import re

from tuning.measure import environment_of, middle

MARGIN = 0.97  # a side is faster when it takes at most this part of the other's time


@dataclasses.dataclass(frozen=True)
class Answer:
    setting: str
    value: str  # empty: the setting is left as it is
    sentence: str
    measured: dict


def mean_ratio(first, second, keys):
    """The geometric mean of first / second."""
    return math.exp(sum(math.log(first[key] / second[key]) for key in keys) / len(keys))


def ratios_by_size(question, result):
    """size -> how long the first side takes beside the second, over the tests."""
    upper, lower = (middle(result, side) for side in question.sides)
    sizes = sorted({size for _, size in upper})
    return {size: mean_ratio(upper, lower, [key for key in upper if key[1] == size]) for size in sizes}


def is_faster_in_all_rounds(first, second, keys):
    """Whether every round says so: sides run in turn, so what disturbs the machine for long disturbs both sides of a round."""
    rounds = range(min(len(values[key]) for values in (first, second) for key in keys))
    return all(mean_ratio({key: first[key][number] for key in keys}, {key: second[key][number] for key in keys}, keys) < 1
               for number in rounds)


def threshold_of(ratios, is_sure=lambda _size: True):
    """The smallest size from which on the first side is faster at every size, and surely; None: at none."""
    found = None
    for size in sorted(ratios, reverse=True):
        if ratios[size] > MARGIN or not is_sure(size):
            break
        found = size
    return found


def decide_threshold(question, result):
    upper, lower = question.sides
    ratios = ratios_by_size(question, result)
    def is_sure(size):
        return is_faster_in_all_rounds(result[upper], result[lower], [key for key in result[upper] if key[1] == size])

    found = threshold_of(ratios, is_sure)
    if found is None and ratios[max(ratios)] <= MARGIN:
        return "", (f"left as it is: at the longest size {upper} took {ratios[max(ratios)]:.2f} of {lower}'s time, but not less in every "
                    "round: something disturbs this machine")
    if found is None:
        return "", f"left as it is: {upper} is not faster than {lower} at the longest size ({ratios[max(ratios)]:.2f} of its time)"
    value = str(-(-found // question.unit))
    if found == min(ratios):
        return value, f"{upper} is faster than {lower} from the shortest size measured on ({ratios[found]:.2f} of its time there)"
    below = max(size for size in ratios if size < found)
    return value, f"from {found} bytes on {upper} takes {ratios[found]:.2f} of {lower}'s time or less, at {below} {ratios[below]:.2f}"


def decide_choice(question, result):
    usual, *others = question.sides
    base = middle(result, usual)
    ratios = {side: mean_ratio(middle(result, side), base, list(base)) for side in others}
    best = min(ratios, key=ratios.get)
    said = ", ".join(f"{side} {ratio:.2f}" for side, ratio in ratios.items())
    if ratios[best] <= MARGIN and not is_faster_in_all_rounds(result[best], result[usual], list(base)):
        return "", f"left as it is ({usual}): no round may say otherwise, and one does of {best}; time beside it: {said}"
    if ratios[best] > MARGIN:
        return "", f"left as it is ({usual}): none is faster; time beside it: {said}"
    return best, f"{best} is fastest; time beside {usual}: {said}"


def decide_slope(question, result):
    """From the shortest size to the longest: the rest of what a message takes is in both. It goes down and comes up."""
    (side,) = question.sides
    times = middle(result, side)
    shortest, longest = min(times, key=lambda key: key[1]), max(times, key=lambda key: key[1])
    n_units = (longest[1] - shortest[1]) / question.unit
    each_ns = round((times[longest] - times[shortest]) * 1000 / 2 / n_units) if n_units else 0
    if each_ns < 1:
        return "", f"left as it is: {longest[1]} bytes take no longer than {shortest[1]}"
    return f"{each_ns}ns", f"{each_ns} ns for each of the {n_units:.0f} by which {longest[1]} bytes are more than {shortest[1]}, one way"


def only_route(routes):
    """The one that all sides took; empty: there were more, or nobody said."""
    taken = set().union(*routes.values())
    return taken.pop() if len(taken) == 1 else ""


def answer(question, result, routes=None):
    """The value for the question's setting, with the reason and the numbers. routes: those that each side took."""
    decide = decide_slope if question.is_slope else decide_threshold if question.is_threshold else decide_choice
    value, sentence = decide(question, result)
    if question.has_routes and (route := only_route(routes or {})):
        value, sentence = "", f"left as it is: there is one way only here, {' and '.join(question.sides)} were {route} alike"
    sentence += f" ({question.remark})" if question.remark else ""
    sides = {side: {"environment": environment_of(variables),
                    "us": [{"test": test, "size_bytes": size, "rounds": values} for (test, size), values in sorted(result[side].items())]}
             for side, variables in question.sides.items()}
    return Answer(question.setting, value, sentence, {"name": question.name, "setting": question.setting, "sides": sides})


def device_words(name):
    """The part of a device's name that others of its kind share: without a number at the end."""
    return re.sub(r"\s+\d+$", "", name)


def text_of(question, result, given):
    """The numbers as a table, and what follows from them."""
    sides = list(question.sides)
    middles = {side: middle(result, side) for side in sides}
    lines = ["  " + f"{'us, median of rounds':<22}" + "".join(f"{side:>16}" for side in sides)]
    for test, size in sorted(middles[sides[0]]):
        lines.append("  " + f"{test + ' ' + str(size):<22}" + "".join(f"{middles[side][test, size]:>16.2f}" for side in sides))
    lines.append(f"  -> {given.setting}={given.value}: {given.sentence}" if given.value else f"  -> {given.sentence}")
    return "\n".join(lines)
