"""Makes small checkpoints with the names of Hugging Face, and what PyTorch computes with them.

    pip install torch transformers diffusers safetensors
    python crates/broadloom-lang/tests/models/make.py

Each model of examples/models has a pair of files here: `NAME.safetensors` has random weights as `save_pretrained` writes them, in
16 bits, and `NAME.golden.safetensors` has the inputs and outputs. The sizes are those that the examples have by default.
"""

import pathlib
import sys

import torch
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).parent
TOKENS = torch.tensor([[17, 3, 42, 8, 25]])


def shaken(model: torch.nn.Module) -> torch.nn.Module:
    """The model with random numbers everywhere, also in biases and statistics, which would begin as 0 and 1."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if not tensor.is_floating_point() or name.endswith("inv_freq"):
                continue
            noise = torch.randn(tensor.shape, generator=generator)
            spread = 0.3 if tensor.ndim < 2 else tensor[0].numel() ** -0.5
            middle = 1.0 if name.endswith(("running_var", "norm.weight", "LayerNorm.weight", "normalization.weight")) else 0.0
            value = (middle + spread * noise).abs() if name.endswith("running_var") else middle + spread * noise
            # The file has 16 bits, and so has the model.
            tensor.copy_(value.half().float())
    return model.eval()


def keep(name: str, model: torch.nn.Module, golden: dict[str, torch.Tensor]) -> None:
    folder = HERE / "saved"
    model.save_pretrained(folder, safe_serialization=True)
    (written,) = folder.glob("*.safetensors")
    weights = load_file(written)
    halves = {key: value.half() if value.is_floating_point() else value for key, value in weights.items()}
    save_file(halves, HERE / f"{name}.safetensors")
    save_file({key: value.contiguous() for key, value in golden.items()}, HERE / f"{name}.golden.safetensors")
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    print(name, sum(value.numel() for value in weights.values()), "numbers", file=sys.stderr)


@torch.no_grad()
def gpt2() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    model = shaken(GPT2LMHeadModel(GPT2Config(vocab_size=61, n_positions=32, n_embd=24, n_layer=2, n_head=3)))
    made = model.generate(TOKENS, max_length=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    keep("gpt2", model, {"prompt": TOKENS[0], "logits": model(TOKENS).logits[0], "text": made[0]})


@torch.no_grad()
def llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=61,
        hidden_size=24,
        intermediate_size=40,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
    )
    model = shaken(LlamaForCausalLM(config))
    made = model.generate(TOKENS, max_length=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    keep("llama", model, {"prompt": TOKENS[0], "logits": model(TOKENS).logits[0], "text": made[0]})


@torch.no_grad()
def bert() -> None:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=61,
        hidden_size=24,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=3,
        max_position_embeddings=32,
    )
    model = shaken(BertForMaskedLM(config))
    tokens = torch.tensor([[2, 17, 3, 42, 8, 25]])
    keep("bert", model, {"tokens": tokens[0], "logits": model(tokens).logits[0]})


@torch.no_grad()
def vit() -> None:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        image_size=16,
        patch_size=4,
        hidden_size=24,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=3,
        num_labels=10,
    )
    model = shaken(ViTForImageClassification(config))
    image = torch.rand(1, 16, 16, 3, generator=torch.Generator().manual_seed(2)) * 2 - 1
    keep("vit", model, {"image": image[0], "logits": model(image.permute(0, 3, 1, 2)).logits[0]})


@torch.no_grad()
def resnet() -> None:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=4, hidden_sizes=[16, 32, 64, 128], depths=[1, 2, 1, 1], layer_type="bottleneck", num_labels=10
    )
    model = shaken(ResNetForImageClassification(config))
    images = torch.rand(2, 32, 32, 3, generator=torch.Generator().manual_seed(2)) * 2 - 1
    keep("resnet", model, {"images": images, "logits": model(images.permute(0, 3, 1, 2)).logits})


@torch.no_grad()
def unet() -> None:
    from diffusers import DDIMScheduler, UNet2DModel

    model = shaken(
        UNet2DModel(
            sample_size=16,
            block_out_channels=(4, 8, 8, 8),
            down_block_types=("DownBlock2D", "AttnDownBlock2D", "DownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
            norm_num_groups=2,
            norm_eps=1e-6,
            attention_head_dim=None,
            downsample_padding=0,
            flip_sin_to_cos=False,
            freq_shift=1,
        )
    )
    image = torch.randn(1, 16, 16, 3, generator=torch.Generator().manual_seed(2))
    channels_first = image.permute(0, 3, 1, 2)
    noise = model(channels_first, 500).sample.permute(0, 2, 3, 1)[0]
    scheduler = DDIMScheduler(num_train_timesteps=1000, beta_start=0.0001, beta_end=0.02, beta_schedule="linear", clip_sample=True)
    scheduler.set_timesteps(5)
    sample = channels_first
    for time in scheduler.timesteps:
        sample = scheduler.step(model(sample, time).sample, time, sample, eta=0.0).prev_sample
    golden = {"image": image[0], "noise": noise, "sample": sample.permute(0, 2, 3, 1)[0]}
    keep("unet", model, golden)


@torch.no_grad()
def mobilenet() -> None:
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    # An eighth of the channels.
    config = MobileNetV2Config(
        depth_multiplier=0.125, depth_divisible_by=1, min_depth=1, finegrained_output=False, num_labels=10
    )
    model = shaken(MobileNetV2ForImageClassification(config))
    images = torch.rand(2, 32, 32, 3, generator=torch.Generator().manual_seed(2)) * 2 - 1
    keep("mobilenet", model, {"images": images, "logits": model(images.permute(0, 3, 1, 2)).logits})


@torch.no_grad()
def mixtral() -> None:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        vocab_size=61,
        hidden_size=24,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        num_local_experts=4,
        num_experts_per_tok=2,
        rope_theta=10000.0,
        tie_word_embeddings=False,
    )
    model = shaken(MixtralForCausalLM(config))
    made = model.generate(TOKENS, max_length=12, do_sample=False, eos_token_id=None, pad_token_id=0)
    keep("mixtral", model, {"prompt": TOKENS[0], "logits": model(TOKENS).logits[0], "text": made[0]})


@torch.no_grad()
def t5() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=61, d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=3)
    model = shaken(T5ForConditionalGeneration(config))
    # Longer than the distances that have a number of their own.
    tokens = torch.randint(2, 61, (1, 20), generator=torch.Generator().manual_seed(3))
    made = torch.zeros(1, 1, dtype=torch.int64)
    while made.shape[1] < 24:
        made = torch.cat([made, model(tokens, decoder_input_ids=made).logits[:, -1].argmax(-1, keepdim=True)], 1)
    logits = model(tokens, decoder_input_ids=torch.zeros_like(made)).logits[0]
    keep("t5", model, {"tokens": tokens[0], "logits": logits, "text": made[0]})


@torch.no_grad()
def swin() -> None:
    from transformers import SwinConfig, SwinForImageClassification

    config = SwinConfig(
        image_size=48, patch_size=2, embed_dim=8, depths=[2, 2, 1, 1], num_heads=[1, 2, 4, 8], window_size=3, num_labels=10
    )
    model = shaken(SwinForImageClassification(config))
    image = torch.rand(1, 48, 48, 3, generator=torch.Generator().manual_seed(2)) * 2 - 1
    keep("swin", model, {"image": image[0], "logits": model(image.permute(0, 3, 1, 2)).logits[0]})


class Look(torch.nn.Module):
    """The formula of a `GATConv`, with its names, and a loop over the edges."""

    def __init__(self, width: int, heads: int, size: int, joined: bool) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(width, heads * size, bias=False)
        self.att_src = torch.nn.Parameter(torch.empty(1, heads, size))
        self.att_dst = torch.nn.Parameter(torch.empty(1, heads, size))
        self.bias = torch.nn.Parameter(torch.empty(heads * size if joined else size))
        self.joined = joined

    def forward(self, x: torch.Tensor, edges: list[tuple[int, int]]) -> torch.Tensor:
        says = self.lin(x).view(len(x), *self.att_src.shape[1:])
        rows = []
        for node in range(len(x)):
            heard = [source for source, goal in edges if goal == node] + [node]
            scores = [(says[one] * self.att_src[0]).sum(-1) + (says[node] * self.att_dst[0]).sum(-1) for one in heard]
            shares = torch.softmax(torch.nn.functional.leaky_relu(torch.stack(scores), 0.2), 0)
            rows.append((shares[:, :, None] * says[heard]).sum(0))
        y = torch.stack(rows)
        return (y.flatten(1) if self.joined else y.mean(1)) + self.bias


@torch.no_grad()
def gat() -> None:
    model = torch.nn.ModuleDict({"conv1": Look(6, 3, 4, True), "conv2": Look(12, 1, 5, False)})
    model.save_pretrained = lambda folder, **_: (folder.mkdir(), save_file(model.state_dict(), folder / "gat.safetensors"))
    shaken(model)
    x = torch.randn(10, 6, generator=torch.Generator().manual_seed(2))
    source = [0, 0, 0, 1, 1, 2, 0, 4, 5, 5, 6, 6, 7, 5, 8]
    edges = list(zip(source, [1, 2, 3, 2, 3, 3, 4, 3, 6, 7, 7, 8, 9, 4, 9], strict=True))
    logits = model["conv2"](torch.nn.functional.elu(model["conv1"](x, edges)), edges)
    keep("gat", model, {"x": x, "logits": logits})


if __name__ == "__main__":
    for make in [gpt2, llama, bert, vit, resnet, unet, mobilenet, mixtral, t5, swin, gat]:
        if len(sys.argv) < 2 or make.__name__ in sys.argv[1:]:
            make()
