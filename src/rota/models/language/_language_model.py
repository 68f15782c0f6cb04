"""A causal language model of `transformers` that is trained on any number of tasks."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rota.errors import RotaError
from rota.guarded import quiet, transformers_package
from rota.models.language._shared_lora import SharedLoRA
from rota.tasks import Kind

SAMPLED = 1024  # numbers of each parameter that tell one model from another


class LanguageModel(nn.Module):
    """One network for all tasks, which differ in their rows alone.

    It answers `model(task, inputs)` with scores of all tokens for each of the `places`: what comes after them. The
    layer that says tokens, often the largest one, sees no other places.

    Args:
        network: A causal language model of `transformers`; it is taken over.
        kinds: Of the tasks, by name.
        adapter: Where given, the network is frozen and this is trained.
        base: Where the network came from; it is needed to build a model with an adapter again.
        checkpointing: Whether activations are computed again in the backward pass, which takes less memory.

    >>> from transformers import LlamaConfig, LlamaForCausalLM
    >>> from rota.tasks import Causal
    >>> sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    >>> model = LanguageModel(LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes)), {"news": Causal(50)})
    >>> tokens = torch.tensor([[3, 7, 9, 4]])
    >>> model("news", {"tokens": tokens, "mask": tokens > 0, "places": torch.tensor([[1, 2]])}).shape
    torch.Size([1, 2, 50])
    """

    def __init__(
        self,
        network: Any,
        kinds: Mapping[str, Kind],
        adapter: SharedLoRA | None = None,
        base: str | None = None,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        self.kinds, self.adapter, self.base = dict(kinds), adapter, base
        self.config = network.config
        self._takes_positions = "position_ids" in inspect.signature(network.forward).parameters
        self._known_by = fingerprint(network) if adapter else None
        if checkpointing:
            network.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        self.checkpointing = checkpointing
        self.network = adapter.attach(network) if adapter else network

    @property
    def _speaker(self) -> nn.Module:
        """The layer that says tokens; no attribute, which would be a part of its own."""
        found: nn.Module = self.network.get_output_embeddings()
        return found

    def forward(self, task: str, inputs: dict[str, Tensor]) -> Tensor:
        places = inputs["places"]
        named: dict[str, Tensor] = {"input_ids": inputs["tokens"], "attention_mask": inputs["mask"].long()}
        if "blocks" in inputs:
            named |= {"position_ids": inputs["positions"], "attention_mask": self._apart(inputs["blocks"])}

        def only_places(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            hidden = args[0]
            chosen = places[..., None].expand(-1, -1, hidden.shape[-1])
            return (hidden.gather(1, chosen), *args[1:])

        hook = self._speaker.register_forward_pre_hook(only_places)
        try:
            found: Tensor = self.network(**named, use_cache=False).logits
        finally:
            hook.remove()
        return found

    def _apart(self, blocks: Tensor) -> Tensor:
        """A mask in which a token sees those of its own text that come before it, and itself."""
        if not self._takes_positions or self.config._attn_implementation not in ("sdpa", "eager"):
            raise RotaError(
                f"Packed rows expect a model with position_ids and attention that takes any mask. Found "
                f"{type(self.network).__name__}. Leave Plan(pack=True) out."
            )
        window = getattr(self.config, "sliding_window", None)
        if window is not None and window < blocks.shape[1]:
            raise RotaError(
                f"Packed rows expect a model whose tokens see all that came before. Found a window of {window} tokens "
                f"for rows of {blocks.shape[1]}. Leave Plan(pack=True) out."
            )
        length = blocks.shape[1]
        before = torch.ones(length, length, dtype=torch.bool, device=blocks.device).tril()
        seen = ((blocks[:, :, None] == blocks[:, None, :]) & before)[:, None]
        if self.config._attn_implementation == "sdpa":
            return seen
        kind = next(self.parameters()).dtype
        return torch.zeros(seen.shape, dtype=kind, device=seen.device).masked_fill(~seen, torch.finfo(kind).min)

    @torch.no_grad()
    def generate(self, prompts: Sequence[Any], most: int, ends: Sequence[int], padding: int) -> list[list[int]]:
        """The likeliest next tokens of each prompt, one after the other, without the token that ends them.

        Args:
            prompts: Tokens of each, as arrays of integers.
            most: Tokens to say at most.
            ends: Tokens that end what is said.
            padding: The token that fills a batch up.
        """
        device = next(self.parameters()).device
        width = max(1, *map(len, prompts))
        tokens = torch.full((len(prompts), width), padding)
        mask = torch.zeros_like(tokens)
        for row, prompt in enumerate(prompts):  # to the right, where it goes on
            tokens[row, width - len(prompt) :], mask[row, width - len(prompt) :] = torch.as_tensor(prompt), 1
        wanted = transformers_package().GenerationConfig(
            max_new_tokens=most, do_sample=False, eos_token_id=list(ends) or None, pad_token_id=padding
        )
        with quiet():
            said = self.network.generate(
                input_ids=tokens.to(device), attention_mask=mask.to(device), generation_config=wanted
            )
        return [_until(own, ends) for own in said[:, width:].tolist()]

    def only_for(self, task: str) -> list[nn.Parameter]:
        """No parameters belong to one task."""
        return []

    def describe(self) -> dict[str, Any]:
        """Plain JSON from which `build_language_model` makes it again, without its weights."""
        base = {"base": self.base, "known_by": self._known_by} if self.adapter else {}
        return {
            "type": "LanguageModel",
            "config": self.config.to_dict(),
            "adapter": str(self.adapter) if self.adapter else None,
            "checkpointing": self.checkpointing,
            **base,
            "kinds": {name: kind.describe() for name, kind in self.kinds.items()},
        }

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights: of an adapter that alone; tied ones once."""
        state = super().state_dict(*args, **kwargs)
        if self.adapter:
            return {name: own for name, own in state.items() if ".lora_" in name}
        seen: dict[int, str] = {}
        return {name: own for name, own in state.items() if seen.setdefault(own.data_ptr(), name) == name}

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Bring back what `state_dict` returned."""
        other = state.keys() ^ self.state_dict().keys()
        if strict and other:
            raise RotaError(f"Expected the weights of this model. Missing or unknown: {', '.join(sorted(other)[:3])}.")
        return super().load_state_dict(state, strict=False, assign=assign)

    def export(self, folder: Path) -> None:
        """Write the network into `language_model`, for `AutoModelForCausalLM`, with its adapter merged into it; and the
        adapter into `adapter`, for peft."""
        with quiet():
            if not self.adapter:
                self.network.save_pretrained(folder / "language_model")
                return
            self.network.save_pretrained(folder / "adapter", safe_serialization=True)
            merged = self.network.merge_and_unload()
            merged.save_pretrained(folder / "language_model")


def fingerprint(network: nn.Module) -> str:
    """Tells models apart: made of the names, the shapes and some numbers of all parameters.

    >>> fingerprint(nn.Linear(2, 2)) == fingerprint(nn.Linear(2, 2))
    False
    """
    total = hashlib.sha256()
    for name, own in network.named_parameters():
        some = own.detach().flatten()[:: max(1, own.numel() // SAMPLED)].float().cpu().contiguous()
        total.update(f"{name}{tuple(own.shape)}".encode() + some.numpy().tobytes())
    return total.hexdigest()[:32]


def _until(tokens: list[int], ends: Sequence[int]) -> list[int]:
    return tokens[: next((place for place, token in enumerate(tokens) if token in ends), len(tokens))]
