"""Makes the golden values in the folder `torch`: what PyTorch computes, and its gradients, one `.npz` per case.

    pip install torch
    python with_torch.py      writes the files, the same bytes on every run with one PyTorch on one machine

Names and layouts are those of README.md: channels last, kernels as `[oc, kh, kw, ic]`, everything float64. `weights` has
the shape of `y`, and `grad_a` is the gradient of `sum(y * weights)` with respect to `a`.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from make import draws, written
from torch import Tensor

FOLDER = Path(__file__).resolve().parent / "torch"
torch.set_default_dtype(torch.float64)


def keep(name: str, case: dict[str, np.ndarray]) -> None:
    case = {key: np.ascontiguousarray(array, dtype=np.float64) for key, array in case.items()}
    (FOLDER / f"{name}.npz").write_bytes(written(case))


def record(name: str, forward: Callable[..., Tensor], fixed: dict | None = None, **sizes: tuple[int, ...]) -> None:
    """A case with normal random inputs of some sizes, and with others that have no gradients."""
    normal = draws("torch: " + name)
    inputs = {key: torch.tensor(normal(*size), requires_grad=True) for key, size in sizes.items()}
    fixed = fixed or {}
    y = forward(**inputs, **{key: torch.tensor(value) for key, value in fixed.items()})
    weights = torch.tensor(normal(*y.shape))
    (y * weights).sum().backward()
    case = {key: value.detach().numpy() for key, value in inputs.items()} | {key: np.array(value) for key, value in fixed.items()}
    case |= {"y": y.detach().numpy(), "weights": weights.numpy()}
    keep(name, case | {f"grad_{key}": value.grad.numpy() for key, value in inputs.items()})


def first(x: Tensor) -> Tensor:
    """Channels behind the batch, as PyTorch has them."""
    return x.movedim(-1, 1)


def last(x: Tensor) -> Tensor:
    return x.movedim(1, -1)


def norms() -> None:
    sizes = {"x": (2, 3, 4, 6), "gamma": (6,), "beta": (6,)}
    record("group_norm", lambda x, gamma, beta: last(F.group_norm(first(x), 3, gamma, beta)), **sizes)
    record("instance_norm", lambda x, gamma, beta: last(F.instance_norm(first(x), weight=gamma, bias=beta)), **sizes)


def images() -> None:
    record(
        "conv1d",
        lambda x, kernel, bias: last(F.conv1d(first(x), first(kernel), bias, stride=2)),
        x=(2, 9, 3), kernel=(4, 3, 3), bias=(4,),
    )
    record(
        "conv1d_plain",
        lambda x, kernel: last(F.conv1d(first(x), first(kernel), padding="same", dilation=2)),
        x=(2, 9, 3), kernel=(4, 5, 3),
    )
    record(
        "conv3d",
        lambda x, kernel, bias: last(F.conv3d(first(x), first(kernel), bias, padding="same")),
        x=(2, 3, 4, 3, 2), kernel=(3, 3, 3, 3, 2), bias=(3,),
    )
    record(
        "grouped_conv2d",
        lambda x, kernel, bias: last(F.conv2d(first(x), first(kernel.flatten(0, 1)), bias, padding=1, groups=2)),
        x=(2, 5, 6, 4), kernel=(2, 3, 3, 3, 2), bias=(6,),
    )
    turned = lambda kernel: kernel.permute(3, 0, 1, 2)
    record(
        "transposed_conv2d",
        lambda x, kernel, bias: last(
            F.conv_transpose2d(first(x), turned(kernel), bias, stride=2, padding=1, output_padding=1)
        ),
        x=(2, 3, 4, 3), kernel=(5, 3, 3, 3), bias=(5,),
    )
    record(
        "transposed_conv2d_cut",
        lambda x, kernel: last(F.conv_transpose2d(first(x), turned(kernel), stride=2, padding=1)),
        x=(2, 3, 4, 3), kernel=(5, 4, 4, 3),
    )
    record("adaptive_avg_pool", lambda x: last(F.adaptive_avg_pool2d(first(x), (3, 2))), x=(2, 7, 5, 3))
    record("adaptive_max_pool", lambda x: last(F.adaptive_max_pool2d(first(x), (3, 2))), x=(2, 7, 5, 3))
    record("upsample", lambda x: last(F.interpolate(first(x), scale_factor=2, mode="nearest")), x=(2, 3, 2, 3))
    record(
        "patch_embedding",
        lambda x, kernel, bias: F.conv2d(first(x), first(kernel), bias, stride=2).flatten(2).transpose(1, 2),
        x=(2, 4, 6, 3), kernel=(5, 2, 2, 3), bias=(5,),
    )


def turn(x: Tensor) -> Tensor:
    """The rotary embedding of LLaMA, for `b s h d`."""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[1])[:, None] / 10000 ** (torch.arange(half) / half)
    cos, sin = angles.cos().repeat(1, 2)[:, None], angles.sin().repeat(1, 2)[:, None]
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def attend(x: Tensor, wq: Tensor, wk: Tensor, wv: Tensor, wo: Tensor, rotation=lambda x: x, **settings) -> Tensor:
    q, k, v = (torch.einsum("bsm,hdm->bshd", x, w) for w in (wq, wk, wv))
    q, k, v = (z.transpose(1, 2) for z in (rotation(q), rotation(k), v))
    return torch.einsum("bhsd,mhd->bsm", F.scaled_dot_product_attention(q, k, v, **settings), wo)


def attentions() -> None:
    record("rotary_halves", turn, x=(2, 5, 3, 6))
    sizes = {"x": (2, 5, 8), "wq": (4, 6, 8), "wk": (2, 6, 8), "wv": (2, 6, 8), "wo": (8, 4, 6)}
    record("attention_groups", lambda **all: attend(**all, rotation=turn, is_causal=True, enable_gqa=True), **sizes)
    sizes = {"x": (2, 5, 8), "wq": (2, 3, 8), "wk": (2, 3, 8), "wv": (2, 3, 8), "wo": (8, 2, 3)}
    record(
        "attention_bias",
        lambda bias, **all: attend(**all, attn_mask=bias.transpose(0, 1), scale=1.0),
        bias=(5, 2, 5), **sizes,
    )
    s, t = torch.arange(5)[:, None], torch.arange(5)
    record("attention_window", lambda **all: attend(**all, attn_mask=(t <= s) & (t > s - 2)), **sizes)
    record(
        "attention_lengths",
        lambda lengths, **all: attend(**all, attn_mask=(t < lengths[:, None])[:, None, None]),
        {"lengths": [3, 5]}, **sizes,
    )
    record(
        "attention_segments",
        lambda numbers, **all: attend(**all, attn_mask=(numbers[:, None, :, None] == numbers[:, None, None]) & (t <= s)),
        {"numbers": [[0, 0, 1, 1, 1], [4, 2, 2, 2, 7]]}, **sizes,
    )

    def mixture(x: Tensor, gate: Tensor, w: Tensor, b: Tensor) -> Tensor:
        values, places = (x @ gate.T).softmax(-1).topk(2)
        says = torch.einsum("bsi,eoi->bseo", x, w) + b
        chosen = says.gather(2, places[..., None].expand(*places.shape, says.shape[-1]))
        return ((values / values.sum(-1, keepdim=True))[..., None] * chosen).sum(2)

    record("mixture", mixture, x=(2, 3, 4), gate=(3, 4), w=(3, 4, 4), b=(3, 4))


def recurrences() -> None:
    def joined(all: dict[str, Tensor], part: str, gates: list[str]) -> Tensor:
        return torch.cat([all[f"{part}_{gate}"] for gate in gates])

    def lstm(x: Tensor, said: Tensor, memory: Tensor, **all: Tensor) -> Tensor:
        read, recall, bias = (joined(all, part, ["into", "forget", "new", "out"]) for part in ["read", "recall", "bias"])
        weights = [read, recall, bias, torch.zeros(bias.numel())]
        y, h, c = torch.lstm(x, (said[None], memory[None]), weights, True, 1, 0.0, False, False, True)
        return torch.cat([y, h.transpose(0, 1), c.transpose(0, 1)], 1)

    shapes = {"read": (4, 3), "recall": (4, 4), "bias": (4,)}
    of = lambda *gates: {f"{part}_{gate}": size for part, size in shapes.items() for gate in gates}
    sizes = {"x": (2, 5, 3), "said": (2, 4)}
    record("lstm", lstm, memory=(2, 4), **of("into", "forget", "new", "out"), **sizes)

    def gru(x: Tensor, said: Tensor, recall_bias: Tensor, **all: Tensor) -> Tensor:
        read, recall, bias = (joined(all, part, ["reset", "keep", "new"]) for part in ["read", "recall", "bias"])
        weights = [read, recall, bias, torch.cat([torch.zeros(8), recall_bias])]
        y, h = torch.gru(x, said[None], weights, True, 1, 0.0, False, False, True)
        return torch.cat([y, h.transpose(0, 1)], 1)

    record("gru", gru, recall_bias=(4,), **of("reset", "keep", "new"), **sizes)


def losses() -> None:
    record(
        "cross_entropy_smoothed",
        lambda logits, targets: F.cross_entropy(logits, targets, label_smoothing=0.2, reduction="none"),
        {"targets": [1, 0, 4, 2]}, logits=(4, 5),
    )

    def contrastive(a: Tensor, b: Tensor) -> Tensor:
        likeness = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / 0.5
        partners = torch.arange(len(a))
        return (F.cross_entropy(likeness, partners) + F.cross_entropy(likeness.T, partners)) / 2

    record("contrastive", contrastive, a=(4, 3), b=(4, 3))


class Lion(torch.optim.Optimizer):
    """The algorithm of Chen and others, *Symbolic Discovery of Optimization Algorithms*, which PyTorch lacks."""

    def __init__(self, params: list[Tensor], lr: float, betas: tuple[float, float], weight_decay: float) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                average = self.state[p].setdefault("average", torch.zeros_like(p))
                a, b = group["betas"]
                p -= group["lr"] * ((a * average + (1 - a) * p.grad).sign() + group["weight_decay"] * p)
                average.mul_(b).add_((1 - b) * p.grad)


def steps(name: str, optimizer: Callable[[list[Tensor]], torch.optim.Optimizer], clip=lambda all: None) -> None:
    """Four steps of two parameters, whose gradients do not depend on them, and averages that follow."""
    normal = draws("torch: " + name)
    p, q = (torch.nn.Parameter(torch.tensor(normal(*size))) for size in ((2, 4), (3,)))
    of_p, of_q = normal(4, 2, 4), normal(4, 3)
    case = {"p": p.detach().numpy().copy(), "q": q.detach().numpy().copy(), "gradients_p": of_p, "gradients_q": of_q}
    model = torch.nn.ParameterList([p, q])
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.75))
    rule = optimizer([p, q])
    for one, other in zip(of_p, of_q, strict=True):
        p.grad, q.grad = torch.tensor(one), torch.tensor(other)
        clip([p, q])
        rule.step()
        average.update_parameters(model)
    followed = [value.detach().numpy() for value in average.module]
    case |= {"y_p": p.detach().numpy(), "y_q": q.detach().numpy(), "average_p": followed[0], "average_q": followed[1]}
    keep(name, case)


def optimisers() -> None:
    steps("rmsprop", lambda all: torch.optim.RMSprop(all, lr=0.1, alpha=0.9))
    steps("adagrad", lambda all: torch.optim.Adagrad(all, lr=0.1))
    steps("lion", lambda all: Lion(all, 0.1, (0.9, 0.99), 0.1))
    sgd = lambda all: torch.optim.SGD(all, lr=0.1, momentum=0.9)
    steps("clip_norm", sgd, lambda all: torch.nn.utils.clip_grad_norm_(all, 2.0))
    steps("clip_values", sgd, lambda all: torch.nn.utils.clip_grad_value_(all, 0.5))

    def factors(schedule: Callable) -> list[float]:
        rule = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        made, rates = schedule(rule), []
        for _ in range(20):
            rates.append(rule.param_groups[0]["lr"])
            rule.step()
            if len(rates) < 20:
                made.step()
        return rates

    from torch.optim.lr_scheduler import LambdaLR, LinearLR, OneCycleLR, StepLR

    of = {
        "linear_decay": lambda rule: LinearLR(rule, 1.0, 0.1, 12),
        "staircase": lambda rule: StepLR(rule, 6, 0.5),
        "one_cycle": lambda rule: OneCycleLR(rule, 1.0, 20),
        "inverse_sqrt": lambda rule: LambdaLR(rule, lambda step: min((step + 1) / 5, (5 / (step + 1)) ** 0.5)),
    }
    keep("schedules", {name: np.array(factors(schedule)) for name, schedule in of.items()})


if __name__ == "__main__":
    for make in [norms, images, attentions, recurrences, losses, optimisers]:
        make()
