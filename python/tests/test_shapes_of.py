"""Shapes of existing modules of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import broadloom as bl
import pytest
from needed import needed

torch = needed("torch")
from models import GPT2, ResNet  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

HERE = Path(__file__).name


@pytest.fixture(scope="module")
def gpt2() -> bl.ModuleShapes:
    return bl.shapes_of(GPT2(layers=1, written_out=True).eval(), {"tokens": "batch, seq"}, sizes={"seq": (1, 32)})


def test_gpt2(gpt2: bl.ModuleShapes) -> None:
    assert not gpt2.mistakes and not gpt2.unknown and not gpt2.disagreements and not gpt2.fixed
    assert gpt2.traced_by == "torch.export" and {each.how for each in gpt2.operations} == {"inferred"}
    expected = {
        "tokens": "batch, seq",
        "wpe": "seq, 64",
        "h.0.attn.c_attn": "batch, seq, 192",
        "h.0.attn.drop": "batch, 4, seq, seq",
        "h.0.mlp.0": "batch, seq, 256",
        "h.0": "batch, seq, 64",
        "lm_head": "batch, seq, 97",
        "": "batch, seq, 97",
    }
    assert {path: gpt2[path] for path in expected} == expected


def test_a_report_is_a_table(gpt2: bl.ModuleShapes) -> None:
    lines = str(gpt2).splitlines()
    assert lines[0].split() == ["module", "kind", "gives", "parameters"]
    assert "h.0.attn         Attention   batch, seq, 64" in lines
    assert "44 of 44 operations inferred, traced by torch.export; 58,368 parameters" in lines
    page = gpt2._repr_html_()
    assert page.startswith("<table>") and "<code>batch, 4, seq, seq</code>" in page
    with pytest.raises(KeyError, match="no module called"):
        gpt2["h.1"]
    assert gpt2.check() is gpt2


def test_operations_have_lines(gpt2: bl.ModuleShapes) -> None:
    (scores,) = (each for each in gpt2.operations if each.name == "softmax")
    assert (scores.path, scores.shape) == ("h.0.attn", "batch, 4, seq, seq")
    text = Path(scores.file).read_text(encoding="utf-8").splitlines()[scores.line - 1]
    assert "F.softmax(scores, dim=-1)" in text


def test_gpt2_with_the_attention_of_pytorch_and_a_range() -> None:
    found = bl.shapes_of(GPT2(layers=1).eval(), "batch, seq")
    assert "scaled_dot_product_attention" in {each.name for each in found.operations}
    assert not found.mistakes and not found.unknown and not found.disagreements
    assert found["h.0.attn"] == "batch, seq, 64"


def test_resnet() -> None:
    found = bl.shapes_of(ResNet((8, 16), 1).eval(), "batch, 3, 64, 64")
    assert not found.mistakes and not found.unknown and not found.disagreements
    assert found["stem"] == "batch, 8, 16, 16" and found["stages.1.0.shortcut"] == "batch, 16, 8, 8"
    assert found["pool"] == "batch, 16, 1, 1" and found["head"].sizes == ("batch", 1000)


def test_resnet_with_named_sides_takes_what_it_cannot_say_from_pytorch() -> None:
    found = bl.shapes_of(ResNet((8, 16), 1).eval(), "batch, 3, h, w")
    assert not found.mistakes and not found.disagreements
    assert {each.operation for each in found.unknown} == {"conv2d", "max_pool2d"}
    assert found["stem"] == "batch, 8, (h - 1)//4 + 1, (w - 1)//4 + 1" and found["head"] == "batch, 1000"
    assert "not known, shapes taken from PyTorch: conv2d (it rounds down: name a multiple, such as `32*height`) 3×" in str(found)


def test_resnet_over_multiples_of_named_sides_is_inferred_whole() -> None:
    model = ResNet((8, 16), 1).eval()
    for text in ("batch, 3, 32*h, 16 * w", (torch.zeros(2, 3, 96, 64), "batch, 3, 32*h, 16*w")):
        found = bl.shapes_of(model, text)
        assert not found.mistakes and not found.disagreements and not found.unknown and not found.fixed
        assert found["input" if "input" in found else "x"] == "batch, 3, 32*h, 16*w"
        assert found["stem"] == "batch, 8, 8*h, 4*w" and found["head"] == "batch, 1000"


def test_multiples_of_names() -> None:
    windows = nn.Sequential(nn.Conv1d(1, 1, 3, stride=2), nn.MaxPool1d(2, padding=1), nn.AvgPool1d(2))
    found = bl.shapes_of(windows, "batch, 1, 8*n")
    assert not found.unknown and not found.disagreements
    assert [found[path] for path in "012"] == ["batch, 1, 4*n - 1", "batch, 1, 2*n", "batch, 1, n"]
    with pytest.raises(bl.Error, match="neither a name, nor a multiple of one, nor a number"):
        bl.shapes_of(windows, "batch, 1, n*8")
    with pytest.raises(bl.Error, match="an axis of 12, which is no multiple of 8"):
        bl.shapes_of(windows, (torch.zeros(2, 1, 12), "batch, 1, 8*n"))


# Mistakes.


def test_a_mistake_has_both_ends() -> None:
    model = ResNet((8, 16), 1, features=15).eval()
    found = bl.shapes_of(model, "batch, 3, 64, 64")
    (mistake,) = found.mistakes
    assert mistake.code == "E0301" and mistake.summary == "`i` cannot be both 16 and 15"
    lines = {Path(end.file or "").name: [] for end in mistake.ends}
    assert set(lines) == {"models.py"}
    text = str(mistake)
    assert "self.head = nn.Linear(features or inner, classes)" in text and "torch.flatten(self.pool(x), 1)" in text
    assert "`linear` in `head` of (batch, 16), (1000, 15), (1000)" in mistake.notes
    assert found["pool"] == "batch, 16, 1, 1" and "" not in found and "not known" in str(found)
    with pytest.raises(bl.Error):
        found.check()


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(64, 64)
        self.positions = nn.Parameter(torch.zeros(32, 64))

    def forward(self, x):
        b, s, d = x.shape
        y = self.proj(x)
        return y.view(b, s, 3, 20)


class Positions(Heads):
    def forward(self, x):
        return self.proj(x) + self.positions


def test_a_view_with_another_number_of_elements() -> None:
    (mistake,) = bl.shapes_of(Heads(), "batch, seq, 64").mistakes
    assert mistake.summary == "`proj.linear` has 64*batch*seq elements, and (batch, seq, 3, 20) has 60*batch*seq"
    first = Heads.forward.__code__.co_firstlineno
    assert [(Path(end.file or "").name, (end.line or 0) - first) for end in mistake.ends] == [(HERE, 3), (HERE, 2)]


def test_notes_are_in_line_with_the_excerpt() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(6, 7))
    for found in (bl.shapes_of(Heads(), "batch, seq, 64"), bl.shapes_of(model, "batch, 4")):
        (mistake,) = found.mistakes
        below = [line for line in str(mistake).splitlines() if line.lstrip().startswith(("= ", "|"))]
        assert len({len(line) - len(line.lstrip()) for line in below}) == 1 and len(below) > 3, str(mistake)


def test_a_named_size_that_can_only_be_one_number() -> None:
    found = bl.shapes_of(Positions(), "batch, seq, 64")
    (mistake,) = found.mistakes
    assert mistake.help == ("it fits only where `seq` is 32",) and found.fixed == {"seq": 32}
    found = bl.shapes_of(Positions(), "batch, seq, 64", sizes={"seq": 32})
    assert not found.mistakes and not found.disagreements and found.fixed == {"seq": 32}
    assert "`seq` can only be 32: " in str(found) and HERE in str(found)


# Inputs.


def test_inputs() -> None:
    model = nn.Embedding(10, 4)
    annotated = bl.shapes_of(model, {"input": bl.Int[torch.Tensor, "batch, seq"]})
    example = bl.shapes_of(model, (torch.zeros(3, 5, dtype=torch.long), "batch, seq"))
    plain = bl.shapes_of(model, torch.zeros(3, 5, dtype=torch.long))
    assert annotated[""] == example[""] == "batch, seq, 4" and plain[""] == "3, 5, 4"
    for inputs, message in (
        ({"input": 3}, "the input `input` is of type int"),
        ({"input": "batch, seq/2"}, "neither a name, nor a multiple of one, nor a number"),
        (["batch", "seq"], "takes 1 inputs, and there are 2"),
        ((torch.zeros(3, 5), "batch"), "names 1 axes"),
    ):
        with pytest.raises(bl.Error, match=message.replace("*", r"\*")):
            bl.shapes_of(model, inputs)
    with pytest.raises(bl.Error, match="`sizes` has `heads`"):
        bl.shapes_of(model, "batch, seq", sizes={"heads": 3})


def test_an_operation_that_is_not_known_is_named() -> None:
    class Spectrum(nn.Module):
        def forward(self, x):
            return torch.relu(torch.fft.fft(x).real)

    found = bl.shapes_of(Spectrum(), "batch, 8")
    assert [each.operation for each in found.unknown] == ["fft_fft"]
    assert found[""] == "batch, 8" and "2 of 3 operations inferred" in str(found)


# Rules, compared with what PyTorch says: `x` and `y` are (b, s, 6).

CASES = {
    "x.flatten(1)": "b, 6*s",
    "x.flatten(0, 1)": "b*s, 6",
    "x.reshape(x.shape[0], -1, 3)": "b, 2*s, 3",
    "x.view(-1, 6)": "b*s, 6",
    "x.unflatten(2, (2, 3))": "b, s, 2, 3",
    "x.unsqueeze(1)": "b, 1, s, 6",
    "x.unsqueeze(-1).squeeze(-1)": "b, s, 6",
    "x.transpose(0, 2)": "6, s, b",
    "x.permute(2, 0, 1)": "6, b, s",
    "x.movedim(0, 2)": "s, 6, b",
    "x.mT": "b, 6, s",
    "x[0]": "s, 6",
    "x[:, -1]": "b, 6",
    "x[:, 1:]": "b, s - 1, 6",
    "x[:, :-1]": "b, s - 1, 6",
    "x[..., 2:5]": "b, s, 3",
    "x[..., ::2]": "b, s, 3",
    "x[:, :1]": "b, 1, 6",
    "x[:, None, :, 0]": "b, 1, s",
    "x[..., None]": "b, s, 6, 1",
    "x.select(2, 1)": "b, s",
    "x.narrow(2, 1, 4)": "b, s, 4",
    "x.split(2, dim=2)[1]": "b, s, 2",
    "x.split([1, 5], dim=-1)[1]": "b, s, 5",
    "x.chunk(4, dim=2)[-1]": "b, s, 2",
    "x.unbind(2)[0]": "b, s",
    "torch.cat([x, y], 1)": "b, 2*s, 6",
    "torch.cat([x, y[:, :1]], dim=1)": "b, s + 1, 6",
    "torch.stack([x, y], 1)": "b, 2, s, 6",
    "x.mean(1)": "b, 6",
    "x.sum((0, 2))": "s",
    "x.sum(-1, keepdim=True)": "b, s, 1",
    "x.max(-1).values": "b, s",
    "x.amax(1)": "b, 6",
    "x.var(1)": "b, 6",
    "x.std(dim=-1, keepdim=True)": "b, s, 1",
    "x.norm(dim=-1)": "b, s",
    "x.sum()": "()",
    "x + y.mean(1, keepdim=True)": "b, s, 6",
    "x.mean(0) * y": "b, s, 6",
    "x @ y.transpose(1, 2)": "b, s, s",
    "x @ torch.ones(6, 3)": "b, s, 3",
    "torch.ones(2, 1, 4, 6) @ x.mT": "2, b, 4, s",
    "torch.bmm(x, y.mT)": "b, s, s",
    "torch.einsum('bsd,btd->bst', x, y)": "b, s, s",
    "torch.einsum('...d,kd->...k', x, torch.ones(4, 6))": "b, s, 4",
    "F.layer_norm(x, (6,))": "b, s, 6",
    "F.softmax(x, -1).masked_fill(x > 0, 0.0)": "b, s, 6",
    "torch.where(x > 0, x, y)": "b, s, 6",
    "torch.arange(x.shape[1])": "s",
    "torch.zeros(x.shape[0], 3)": "b, 3",
    "x.new_ones(x.shape)": "b, s, 6",
    "x[:, :1].expand(-1, 4, -1)": "b, 4, 6",
    "x.mean(1, keepdim=True).expand_as(x)": "b, s, 6",
    "x.repeat(1, 1, 2)": "b, s, 12",
    "F.pad(x, (1, 2))": "b, s, 9",
    "F.conv1d(x.mT, torch.ones(4, 6, 3), padding=1)": "b, 4, s",
    "F.conv1d(x.mT, torch.ones(4, 6, 3))": "b, 4, s - 2",
    "F.conv1d(x.mT, torch.ones(6, 1, 3), padding='same', groups=6)": "b, 6, s",
    "F.conv1d(x.flatten(0, 1).unsqueeze(1), torch.ones(4, 1, 2), stride=2)": "b*s, 4, 3",
    "F.max_pool1d(x, 3, stride=2)": "b, s, 2",
    "F.avg_pool1d(x, 2)": "b, s, 3",
    "F.adaptive_avg_pool1d(x, 4)": "b, s, 4",
    "F.scaled_dot_product_attention(x[:, None], y[:, None], y[:, None])": "b, 1, s, 6",
    "F.embedding(x.argmax(-1), torch.ones(6, 9))": "b, s, 9",
    "F.cross_entropy(x.flatten(0, 1), y.argmax(-1).flatten())": "()",
    "torch.baddbmm(x @ y.mT, x, y.mT)": "b, s, s",
    "x.unfold(1, 3, 1)": "b, s - 2, 6, 3",
    "x.unfold(2, 2, 2)": "b, s, 3, 2",
    "F.unfold(x.reshape(-1, 1, 3, 2), (2, 1), padding=(1, 0))": "b*s, 2, 8",
    "(x @ y.mT).diagonal(dim1=1, dim2=2)": "b, s",
    "torch.diagonal(x.unflatten(2, (2, 3)), offset=1, dim1=2, dim2=3)": "b, s, 2",
    "torch.sort(x, dim=-1).values": "b, s, 6",
    "x.argsort(1)": "b, s, 6",
    "x.topk(2, dim=-1).indices": "b, s, 2",
    "x.gather(1, y[:, :1].long())": "b, 1, 6",
    "x.index_select(1, torch.arange(3))": "b, 3, 6",
    "x[:, torch.arange(4)]": "b, 4, 6",
    "x[y.argmax(-1)]": "b, s, s, 6",
    "x[:, torch.arange(2)[:, None], torch.arange(3)]": "b, 2, 3",
    "x[torch.arange(2), :, torch.arange(2)]": "2, s",
    "F.one_hot(x.argmax(-1), 6)": "b, s, 6",
    "x.repeat_interleave(3, dim=1)": "b, 3*s, 6",
    "F.interpolate(x, scale_factor=2)": "b, s, 12",
    "F.interpolate(x.unsqueeze(0), scale_factor=2, mode='bilinear')": "1, b, 2*s, 12",
    "F.interpolate(x, size=4)": "b, s, 4",
    "F.pixel_shuffle(x.transpose(1, 2)[:, :4, :, None], 2)": "b, 1, 2*s, 2",
    "F.glu(x)": "b, s, 3",
    "F.conv_transpose1d(x.mT, torch.ones(6, 4, 2), torch.ones(4), stride=2)": "b, 4, 2*s",
    "F.conv_transpose1d(x.mT, torch.ones(6, 4, 3), stride=2, padding=1, output_padding=1)": "b, 4, 2*s",
    "F.conv_transpose1d(x.mT, torch.ones(6, 2, 3), padding=1, groups=2)": "b, 4, s",
    "torch.outer(x[0, 0], y[0, :, 0])": "6, s",
    "torch.cdist(x, y)": "b, s, s",
    "F.cosine_similarity(x, y, dim=-1)": "b, s",
}


class Case(nn.Module):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.code = compile(text, __file__, "eval")

    def forward(self, x, y):
        return eval(self.code, {"x": x, "y": y, "torch": torch, "F": F})


class Cases(nn.Module):
    """All of them in one module, so that they are traced once."""

    def __init__(self) -> None:
        super().__init__()
        self.cases = nn.ModuleList(map(Case, CASES))

    def forward(self, x, y):
        return [case(x, y) for case in self.cases]


@pytest.fixture(scope="module", params=["torch.export", "call by call"])
def cases(request: pytest.FixtureRequest) -> bl.ModuleShapes:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "call by call":
            patch.setattr("broadloom._shapes_of._exported", lambda *_: None)
        found = bl.shapes_of(Cases(), {"x": "b, s, 6", "y": "b, s, 6"}, sizes={"b": 5, "s": 7})
    assert found.traced_by == request.param
    return found


def test_rules_agree_with_pytorch(cases: bl.ModuleShapes) -> None:
    assert not cases.mistakes and not cases.unknown and not cases.disagreements, "\n".join(
        map(str, [*cases.mistakes, *cases.unknown, *cases.disagreements])
    )


def test_rules_give_what_is_expected(cases: bl.ModuleShapes) -> None:
    assert {text: cases[f"cases.{number}"] for number, text in enumerate(CASES)} == CASES


def test_the_transformer_of_pytorch() -> None:
    found = bl.shapes_of(nn.Transformer(32, 4, 1, 1, batch_first=True), {"src": "b, s, 32", "tgt": "b, t, 32"})
    assert found[""] == "b, t, 32" and not found.unknown and not found.disagreements, str(found)


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(layer: Any) -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turns = layer(6, 5, num_layers=2, bidirectional=True, batch_first=True)

        def forward(self, x):
            made, state = self.turns(x)
            return made + (state[0] if isinstance(state, tuple) else state)[-1].mean()

    found = bl.shapes_of(Last(), "batch, steps, 6")
    assert found[""] == "batch, steps, 10" and not found.unknown and not found.disagreements, str(found)


def test_a_recurrent_layer_of_another_width() -> None:
    class Wrong(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.turns = nn.Embedding(100, 8), nn.LSTM(6, 5)

        def forward(self, x):
            return self.turns(self.embed(x))[0]

    (mistake,) = bl.shapes_of(Wrong(), bl.Int[torch.Tensor, "steps, batch"]).mistakes
    assert {"6", "8"} <= set(re.findall(r"\d+", mistake.summary)), str(mistake)


class Around(nn.Module):
    """A program between two layers of PyTorch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        text = """
            dim steps in 2..
            dim batch in 1..
            data x : batch, steps | 8
            let y = relu({w : ... -> 16} @ einsum("..., 1^s | i => ..., s | i", x))
        """
        self.first, self.program, self.last = nn.Linear(5, width), bl.torch.Module(bl.program(text)), nn.Linear(16, 3)

    def forward(self, x):
        return self.last(self.program(self.first(x)))


def test_a_program_inside_of_a_module() -> None:
    found = bl.shapes_of(Around(8), "b, s, 5")
    assert found["program"] == "b, s - 1, 16" and found[""] == "b, s - 1, 3", str(found)
    assert not found.mistakes and not found.unknown and not found.disagreements
    # A trace that is to be run later needs the numbers of the program, which PyTorch cannot compute.
    with pytest.raises(Exception, match="being traced by PyTorch"):
        torch.export.export(Around(8), (torch.ones(2, 4, 5),))


def test_a_program_inside_of_a_module_with_a_size_that_no_input_has() -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            text = "dim n in 1..\ndim width in 1..64 = 8\ndata x : n | 4\nlet y = {w : ... -> width} @ x\n"
            self.program = bl.torch.Module(bl.program(text))

        def forward(self, x):
            return self.program(x)

    found = bl.shapes_of(Wide(), "b, 4")
    assert found[""] == "b, 8" and not found.mistakes, str(found)


def test_a_program_inside_of_a_module_that_it_does_not_fit() -> None:
    (mistake,) = bl.shapes_of(Around(9), "b, s, 5").mistakes
    assert "is 9 and should be 8" in mistake.summary, str(mistake)


def test_an_index_by_a_mask_is_named() -> None:
    class Masked(nn.Module):
        def forward(self, x):
            return x[x.sum(-1) > 0].sum()

    found = bl.shapes_of(Masked(), "batch, 8")
    assert "index by a mask" in [each.operation for each in found.unknown] and not found.disagreements, str(found)


def test_what_is_no_input() -> None:
    with pytest.raises(bl.Error, match="`forward` of Linear has no input `x`"):
        bl.shapes_of(torch.nn.Linear(3, 4), {"x": "n, 3"})
    with pytest.raises(TypeError, match="takes a module of PyTorch, not function"):
        bl.shapes_of(lambda x: x, "n")


def test_parameters_of_modules_that_are_not_called() -> None:
    found = bl.shapes_of(torch.nn.MultiheadAttention(16, 4, batch_first=True), ["batch, seq, 16"] * 3)
    whole = next(line for line in str(found).splitlines() if line.startswith("(whole)"))
    assert whole.endswith("1,088") and "; 1,088 parameters" in str(found)


class Forward(torch.nn.Module):
    """A function of one tensor, behind a layer."""

    def __init__(self, of: Any) -> None:
        super().__init__()
        self.layer, self.of = torch.nn.Linear(8, 8), of

    def forward(self, x: Any) -> Any:
        return self.of(self.layer(x))


@bl.shaped
def doubled(x: bl.Float[torch.Tensor, "b, s | d"]) -> bl.Float[torch.Tensor, "b, s | d"]:
    return 2 * x


@pytest.mark.parametrize(
    ("of", "given", "wanted"),
    [
        (lambda x: bl.rearrange("b n (h d) => b h n d", x, h=2), "batch, seq, 8", "batch, 2, seq, 4"),
        (lambda x: bl.rearrange("b n d => (b n) d", x), "batch, seq, 8", "batch*seq, 8"),
        (lambda x: bl.rearrange("b (n k) d => b n k d", x, k=2), "batch, 2*seq, 8", "batch, seq, 2, 8"),
        (lambda x: bl.rearrange("(b n) d => b n d", x.reshape(-1, 8), b=x.shape[0]), "batch, seq, 8", "batch, seq, 8"),
        (lambda x: bl.sum("b n d => b d", x), "batch, seq, 8", "batch, 8"),
        (lambda x: bl.mean("b n d => b d", x), "batch, seq, 8", "batch, 8"),
        (lambda x: bl.max("b n d => b n", x), "batch, seq, 8", "batch, seq"),
        (lambda x: bl.einsum("b n d; b m d => b n m", x, x), "batch, seq, 8", "batch, seq, seq"),
        (lambda x: bl.repeat("b n d => b n (r) d", x, r=3), "batch, seq, 8", "batch, seq, 3, 8"),
        (lambda x: bl.reduce("b (n k) d => b n d", x, "mean", k=2), "batch, 2*seq, 8", "batch, seq, 8"),
        (lambda x: bl.split("b, n, a^c => b, n, a; b, n, c", x, a=3)[0], "batch, seq, 8", "batch, seq, 3"),
        (lambda x: bl.pack("b ... d", [x, x])[0], "batch, seq, 8", "batch, 2*seq, 8"),
        (lambda x: bl.max("b, o<+k, d => b, o, d", x, k=3), "batch, seq, 8", "batch, seq - 2, 8"),
        (lambda x: x.sum(1) / bl.sizes("b s d", x)["s"], "batch, seq, 8", "batch, 8"),
        (doubled, "batch, seq, 8", "batch, seq, 8"),
    ],
)
def test_specs_keep_the_names_of_sizes(of: Any, given: str, wanted: str) -> None:
    found = bl.shapes_of(Forward(of), given).check()
    assert (found[""], found.fixed) == (wanted, {})


def test_specs_that_do_not_fit() -> None:
    found = bl.shapes_of(Forward(lambda x: bl.rearrange("b (n k) d => b n k d", x, k=2)), "batch, seq, 8")
    assert "Broadloom refuses the module" in found.mistakes[0].summary and "a multiple of 2" in found.mistakes[0].summary
    found = bl.shapes_of(Forward(lambda x: bl.einsum("b n d; b d m => b n m", x, x)), "batch, seq, 8")
    assert "`d` cannot be both 8 and 7" in found.mistakes[0].summary and found.fixed == {}


def test_sizes_that_are_asked_for_their_numbers() -> None:
    found = bl.shapes_of(Forward(lambda x: x.reshape(int(x.shape[0]) * int(x.shape[1]), 8)), "batch, seq, 8")
    assert found.mistakes == [] and set(found.fixed) == {"batch", "seq"}
    assert found[""] == f"{found.fixed['batch'] * found.fixed['seq']}, 8"
