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


if __name__ == "__main__":
    for make in [gpt2, llama, bert, vit, resnet, unet]:
        if len(sys.argv) < 2 or make.__name__ in sys.argv[1:]:
            make()
