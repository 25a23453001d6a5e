# SPDX-License-Identifier: BSD-2-Clause
"""Trainings and a generation for answers.py: answers_work.py MODE SECONDS. The line that keeps memory ends with `# MODE`."""
import socket
import sys
import time

import torch
from torch import nn

MODE, SECONDS = sys.argv[1], float(sys.argv[2])
WORDS, WIDTH, LENGTH, BATCH = 8192, 512, 256, 8
LEAST_STEPS = 60


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(WIDTH), nn.MultiheadAttention(WIDTH, 8, batch_first=True)
        self.body = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.body(x)


class Words(nn.Module):
    """A small transformer."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks, self.head = nn.Sequential(*[Block() for _ in range(4)]), nn.Linear(WIDTH, WORDS)

    def forward(self, ids):
        return self.head(self.blocks(self.embedding(ids)))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
                                  nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.body(x))


def steps():
    """Some iterations at least, and then until the time is over."""
    end, number = time.monotonic() + SECONDS, 0
    while number < LEAST_STEPS or time.monotonic() < end:
        yield number
        number += 1
        time.sleep(0.02)


def some_ids(batch=BATCH):
    return torch.randint(WORDS, (batch, LENGTH), device="cuda")


def loss_of(out, ids):
    return nn.functional.cross_entropy(out.flatten(0, 1), ids.flatten())


def train(model, optimizer, batch=BATCH):
    ids = some_ids(batch)
    out = model(ids)
    loss_of(out, ids).backward()
    optimizer.step()
    optimizer.zero_grad()
    return out


def classify(model, optimizer, batch, classes):
    for _ in steps():
        image, label = torch.randn(batch, 3, 128, 128, device="cuda"), torch.randint(classes, (batch,), device="cuda")
        nn.functional.cross_entropy(model(image), label).backward()
        optimizer.step()
        optimizer.zero_grad()


def images():
    """a residual network in training: nothing is kept"""
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), *[Residual(64) for _ in range(8)], nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(64, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    classify(model, optimizer, 16, 10)


def words():
    """a transformer in training: nothing is kept"""
    model = Words().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in steps():
        train(model, optimizer)


@torch.no_grad()
def generation():
    """a transformer that generates: nothing is kept from one text to the next"""
    model = Words().cuda().eval()
    for _ in steps():
        ids = some_ids()[:, :16]
        for _ in range(8):
            ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], 1)


def validation():
    """validation that keeps each loss with its graph"""
    model, losses = Words().cuda(), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in steps():
        train(model, optimizer)
        ids = some_ids(1)
        losses.append(loss_of(model(ids), ids))


def logits():
    """a training that keeps some of each step's outputs"""
    model, kept = Words().cuda(), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in steps():
        kept.append(train(model, optimizer).detach()[:, :8].clone())  # logits


@torch.no_grad()
def caches():
    """a generation that keeps the keys and values of each text"""
    model, kept = Words().cuda().eval(), []
    for _ in steps():
        ids = some_ids()
        model(ids)
        kept.append(torch.randn(BATCH, LENGTH, WIDTH, device="cuda"))  # caches


def batch():
    """a batch that is far too large"""
    model = Words().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        train(model, optimizer)
    free = torch.cuda.mem_get_info()[0]
    train(model, optimizer, free // (LENGTH * WORDS * 4) * 2)


def limit():
    """a leak that ends at PyTorch's own limit"""
    torch.cuda.set_per_process_memory_fraction(6e9 / torch.cuda.get_device_properties(0).total_memory)
    model, kept = Words().cuda(), []
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        kept.append(train(model, optimizer).detach()[:4].clone())  # limit


def resnet():
    """torchvision's ResNet-50 in training: nothing is kept"""
    import torchvision  # pylint: disable=import-outside-toplevel
    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    classify(model, optimizer, 8, 1000)


def a_llama():
    from transformers import LlamaConfig, LlamaForCausalLM  # pylint: disable=import-outside-toplevel
    return LlamaForCausalLM(LlamaConfig(vocab_size=WORDS, hidden_size=WIDTH, intermediate_size=3 * WIDTH, num_hidden_layers=4,
                                        num_attention_heads=8)).cuda()


def llama():
    """a Llama of transformers in training: nothing is kept"""
    model = a_llama()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in steps():
        ids = some_ids()
        model(ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@torch.no_grad()
def chats():
    """a Llama that answers, and keeps the cache of each conversation"""
    model, kept = a_llama().eval(), []
    for _ in steps():
        kept.append(model(some_ids(), use_cache=True).past_key_values)  # chats


def train_rank(rank, port):
    """A rank of a training with DistributedDataParallel; rank 1 keeps what it computes."""
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    model, kept = nn.parallel.DistributedDataParallel(Words().cuda()), []
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(300):
        out = train(model, optimizer)
        if rank:
            kept.append(out.detach()[:, :8].clone())  # ranks
    dist.destroy_process_group()


def ranks():
    """two ranks, of which one has a leak"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(train_rank, (port,), nprocs=2)


if __name__ == "__main__":
    globals()[MODE]()
