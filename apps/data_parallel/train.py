# SPDX-License-Identifier: BSD-3-Clause
"""Trains a small transformer on all ranks of MPI_COMM_WORLD, each on sentences of its own, and prints one line of JSON:
throughput, losses, and what was checked. apps/data_parallel/compare starts it in each way; docs/apps.md tells more.

Exit status: 0, 1 a check failed, 2 wrong command line.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import sys
import time
import traceback

# Before PyTorch loads the library that reads it: its products of matrices are to be the same in each run.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
from mpi4py import MPI  # noqa: E402

from exchanges import WAYS  # noqa: E402
from gradients import Gradients  # noqa: E402
from model import SIZES, Transformer, sentences_of  # noqa: E402

WORLD = MPI.COMM_WORLD


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=tuple(WAYS), required=True, help="how gradients are summed")
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--size", choices=tuple(SIZES), default="base", help="of the model (base: 110 million parameters)")
    parser.add_argument("--sentences", type=int, default=8, help="of a rank in each step (8)")
    parser.add_argument("--steps", type=int, default=30, help="steps that are timed (30)")
    parser.add_argument("--warm-up", type=int, default=5, help="steps before, not timed, whose losses count (5)")
    parser.add_argument("--bucket-mib", type=float, default=25, help="size of a bucket (25)")
    parser.add_argument("--half", action="store_true", help="computes in bfloat16 where that is safe; gradients stay float")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the line as well")
    parser.add_argument("--spoil", action="store_true", help="changes a gradient on the last rank: the check must find it")
    return parser.parse_args()


def choose_device(name):
    """The device of this rank's number on its host."""
    local = WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    rank = local.rank
    local.Free()
    if name == "cpu":
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // WORLD.size))
        return torch.device("cpu")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def wait_for(device):
    if device.type != "cpu":
        torch.cuda.synchronize(device)


def check_sums(gradients):
    """Compares the buckets with sums of what left, made by the host alone. "" or what is wrong."""
    for bucket, before in gradients.before.items():
        wanted = WORLD.allreduce(before.double(), MPI.SUM)
        found = gradients.flats[bucket].cpu().double()
        allowed = 1e-5 * wanted.abs() + 1e-7 * wanted.abs().max()
        wrong = ~((found - wanted).abs() <= allowed)
        if wrong.any():
            at = int(wrong.nonzero()[0])
            error = f"bucket {bucket}: number {at} is {found[at].item()} instead of {wanted[at].item()}"
        else:
            error = ""
        errors = [f"rank {rank}: {text}" for rank, text in enumerate(WORLD.allgather(error)) if text]
        if errors:
            return errors[0]
    return ""


def check_same_everywhere(model):
    """Whether all ranks have the same parameters, bit by bit."""
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().cpu().numpy().tobytes())
    return "" if len(set(WORLD.allgather(digest.hexdigest()))) == 1 else "the ranks' parameters are not the same at the end"


def train(arguments, device, exchange):
    """(losses, seconds of each timed step, seconds waited in each, numbers of model, what is wrong)."""
    size = SIZES[arguments.size]
    torch.manual_seed(1)
    model = Transformer(size).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    gradients = Gradients(model, exchange, max(1, int(arguments.bucket_mib * 2**20)))
    losses, seconds, waited, error = [], [], [], ""
    for step in range(arguments.warm_up + arguments.steps):
        sentences = sentences_of(size, arguments.sentences, WORLD.rank, step, device)
        wait_for(device)
        WORLD.Barrier()
        begin = time.perf_counter()
        gradients.begin(is_checked=step == 0)
        with torch.autocast(device.type, torch.bfloat16, enabled=arguments.half):
            loss = model(sentences)
        (loss / WORLD.size).backward()
        own_wait = gradients.finish()
        if step == 0:
            if arguments.spoil and WORLD.rank == WORLD.size - 1:
                gradients.flats[-1][0] += 1
            error = check_sums(gradients)
            if error:
                break
        optimizer.step()
        wait_for(device)
        if step >= arguments.warm_up:
            seconds.append(time.perf_counter() - begin)
            waited.append(own_wait)
        losses.append(loss.item())
    about = {"parameters": sum(one.numel() for one in model.parameters()), "buckets": len(gradients.flats)}
    return losses, seconds, waited, about, error or check_same_everywhere(model)


def main():
    arguments = parse_arguments()
    torch.use_deterministic_algorithms(True, warn_only=True)
    device = choose_device(arguments.device)
    exchange = WAYS[arguments.way](device)
    losses, seconds, waited, about, error = train(arguments, device, exchange)
    exchange.close()
    mean_losses = [sum(of_step) / WORLD.size for of_step in zip(*WORLD.allgather(losses))]
    slowest = [max(of_step) for of_step in zip(*WORLD.allgather(seconds))]
    longest = [max(of_step) for of_step in zip(*WORLD.allgather(waited))]
    document = {"way": arguments.way, "ranks": WORLD.size, "device": arguments.device, **about, "size": arguments.size,
                "sentences": arguments.sentences, "bucket_mib": arguments.bucket_mib, "half": arguments.half,
                "losses": mean_losses, "error": error, "torch": torch.__version__,
                "device_name": torch.cuda.get_device_name(device) if device.type != "cpu" else "cpu",
                "mpi": MPI.Get_library_version().split("\n")[0].split(",")[0]}
    if slowest:
        middle = statistics.median(slowest)
        document |= {"step_s": {"median": middle, "min": min(slowest), "max": max(slowest)},
                     "waited_s": {"median": statistics.median(longest), "max": max(longest)},
                     "words_per_s": WORLD.size * arguments.sentences * SIZES[arguments.size].length / middle}
    if WORLD.rank == 0:
        print(json.dumps(document), flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(document) + "\n", encoding="utf-8")
        if error:
            print(f"data_parallel: {error}", file=sys.stderr)
    return 1 if error else 0


if __name__ == "__main__":
    try:
        status = main()
    except Exception:
        # Only this rank knows, and the others wait for it: nobody could end in order.
        traceback.print_exc()
        WORLD.Abort(1)
    sys.exit(status)
