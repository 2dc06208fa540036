# SPDX-License-Identifier: BSD-3-Clause
"""A small transformer that learns the next word of made-up sentences."""

import dataclasses

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Size:
    n_layers: int
    width: int
    n_heads: int
    n_words: int
    length: int  # of a sentence


# `base` has 110 million parameters, `tiny` is for machines without a GPU.
SIZES = {"tiny": Size(2, 64, 4, 256, 32), "base": Size(12, 768, 12, 32000, 512)}


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.n_heads = size.n_heads
        self.before_attention = nn.LayerNorm(size.width)
        self.queries_keys_values = nn.Linear(size.width, 3 * size.width)
        self.attended = nn.Linear(size.width, size.width)
        self.before_layers = nn.LayerNorm(size.width)
        self.layers = nn.Sequential(nn.Linear(size.width, 4 * size.width), nn.GELU(), nn.Linear(4 * size.width, size.width))

    def forward(self, x):
        n, length, width = x.shape
        parts = self.queries_keys_values(self.before_attention(x)).view(n, length, 3, self.n_heads, width // self.n_heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.attended(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.layers(self.before_layers(x))


class Transformer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.words = nn.Embedding(size.n_words, size.width)
        self.places = nn.Embedding(size.length, size.width)
        self.blocks = nn.Sequential(*(Block(size) for _ in range(size.n_layers)))
        self.last = nn.LayerNorm(size.width)
        for embedding in (self.words, self.places):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, sentences):
        """Mean loss of guessing each word but the first. sentences: [n, length + 1] of word numbers."""
        known, wanted = sentences[:, :-1], sentences[:, 1:]
        places = torch.arange(known.shape[1], device=known.device)
        x = self.last(self.blocks(self.words(known) + self.places(places)))
        guesses = functional.linear(x, self.words.weight)
        return functional.cross_entropy(guesses.flatten(0, 1).float(), wanted.flatten())


def sentences_of(size, n_sentences, rank, step, device):
    """The same for each way of exchanging gradients, others for each rank and step: walks with steps that repeat."""
    source = torch.Generator().manual_seed(1_000_003 * step + rank)
    first = torch.randint(size.n_words, (n_sentences, 1), generator=source)
    stride = torch.randint(1, 8, (n_sentences, 1), generator=source)
    return ((first + stride * torch.arange(size.length + 1)) % size.n_words).to(device)
