"""CA-MTL: one transformer for all tasks that each task adapts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from torch import Tensor, nn

from rota.errors import RotaError, unknown_name
from rota.models.camtl._alignment import FilmAlignment, MatrixAlignment, TaskAlignment
from rota.models.camtl._attention import BlockBias
from rota.models.camtl._bottleneck import Bottleneck
from rota.models.camtl._embeddings import TaskEmbeddings
from rota.models.camtl._layer import ConditionalLayer
from rota.models.camtl._norm import ConditionalNorm
from rota.models.camtl._parts import Parts
from rota.models.core import Features, MultiTaskModel, Pooling, Pretrained, Whose, check_name, hide_padding
from rota.tasks import Kind, Task


def camtl(
    encoder: Pretrained,
    tasks: Sequence[Task] | Mapping[str, Kind],
    parts: Parts | None = None,
    frozen: int | Literal["half"] = "half",
) -> MultiTaskModel:
    """The task-conditioned transformer around a pretrained encoder, with a head for each task.

    Args:
        encoder: What `rota.models.pretrained` returns; its layers are taken over.
        tasks: As for `MultiTaskModel`.
        parts: Which conditional parts it has; by default all of them.
        frozen: Layers from below that are frozen, with the embeddings; 0: everything is trained.

    >>> import torch
    >>> from rota.models.core import rebuilt
    >>> from rota.tasks import Classification
    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> encoder = rebuilt({"model_type": "bert", **tiny}, pooling="first", pooler=False, hidden=None)
    >>> model = camtl(encoder, {"rte": Classification(2), "mnli": Classification(3)})
    >>> tokens = torch.tensor([[3, 7, 9]])
    >>> model("mnli", {"tokens": tokens, "types": tokens * 0, "mask": tokens > 0}).shape
    torch.Size([1, 3])
    """
    names = list(tasks) if isinstance(tasks, Mapping) else [task.name for task in tasks]
    return MultiTaskModel(CAMTL(encoder.transformer, names, encoder.pooling, encoder.hidden, parts, frozen), tasks)


class CAMTL(Pretrained):
    """A transformer that is built like BERT or RoBERTa, of any depth and width, with parts that depend on the task:
    alignment of the embeddings, a bias of the attention in all layers, layer norms in the upper half, a bottleneck.

    A task is a vector z; the layers see W z, with one W for all of them; the alignment sees z itself. All that depends
    on the task is computed once for each task that has rows, not for each row.

    Args:
        transformer: The pretrained model of `transformers`; it is taken over.
        tasks: Their names.
        pooling, hidden: See `Pretrained`.
        parts: Which conditional parts it has.
        frozen: Layers from below that are frozen, with the embeddings. Conditional parts are trained in all of them.

    Reference: Pilault, Elhattami & Pal, "Conditionally Adaptive Multi-Task Learning: Improving Transfer Learning in NLP
    Using Fewer Parameters & Less Data" (CA-MTL).

    Where this differs from the released code: with all conditional parts at zero it is the pretrained encoder,
    because what the bottleneck reads goes past it, too, and the top layer begins with its pretrained weights
    (`Parts.released` has it otherwise). Half of the layers are frozen, not 5 of 12. γ and β of the attention's bias are
    trained in frozen layers. Rows may be of any length. Frozen layers run without dropout.

    >>> from rota.models.core import rebuilt
    >>> tiny = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    >>> plain = rebuilt({"model_type": "bert", **tiny}, pooling="first", pooler=False, hidden=None)
    >>> encoder = CAMTL(plain.transformer, ["rte", "mnli"])
    >>> encoder.add_task("wnli", init="rte")
    >>> list(encoder.embeddings), encoder.frozen
    (['rte', 'mnli', 'wnli'], 1)
    """

    def __init__(
        self,
        transformer: Any,
        tasks: Sequence[str],
        pooling: Pooling = "first",
        hidden: int | None = None,
        parts: Parts | None = None,
        frozen: int | Literal["half"] = "half",
    ) -> None:
        for task in tasks:
            check_name(task)
        super().__init__(transformer, pooling, hidden)
        self.stack.refuse_unless_like_bert("CA-MTL", "name this one without 'camtl:' to train it plainly")
        parts = parts or Parts()
        first = {"all": 0, "trainable": self.number_of(frozen), "off": len(self.stack.layers)}
        biased = first[parts.attention] if isinstance(parts.attention, str) else parts.attention
        # As a number: whoever builds this again may have frozen other layers meanwhile.
        self.parts = parts = parts.model_copy(update={"attention": biased})
        layers, width = self.stack.layers, self.width
        if parts.new_top:
            layers[-1].apply(transformer._init_weights)
        self.embeddings = TaskEmbeddings(tasks, width)
        self.alignment: nn.Module | None = None
        if parts.alignment != "off":
            self.alignment = {
                "film": lambda: FilmAlignment(width),
                "matrix": lambda: MatrixAlignment(width),
                "per-task": lambda: TaskAlignment(width, tasks),
            }[parts.alignment]()
        for number, layer in enumerate(list(layers)):
            transformer.encoder.layer[number] = self._conditional(layer, number, len(layers))
        self._form = parts.bottleneck_for(len(layers))
        self.freeze(frozen)

    def freeze(self, frozen: int | Literal["half"]) -> None:
        super().freeze(frozen)
        for layer in self.stack.layers[: self.frozen]:
            if isinstance(layer, ConditionalLayer) and layer.bias is not None and self.parts.freeze_bias:
                layer.bias.film.requires_grad_(False)

    def _conditional(self, layer: nn.Module, number: int, layers: int) -> ConditionalLayer:
        parts, width, form = self.parts, self.width, self.parts.bottleneck_for(layers)

        def norm() -> ConditionalNorm:
            assert parts.norm != "off"
            return ConditionalNorm(width, width, parts.norm)

        assert isinstance(parts.attention, int)
        bias = (
            BlockBias(width, parts.longest, parts.blocks_for(width), parts.entries, parts.first_bias)
            if number >= parts.attention
            else None
        )
        normed = parts.norm != "off" and number >= layers // 2
        narrow = form in ("stream", "released-stream") or (form != "off" and number == layers - 1)
        return ConditionalLayer(
            layer,
            bias,
            (norm(), norm()) if normed else None,
            Bottleneck(width, parts.relu) if narrow else None,
            form,
            norm() if narrow and normed and form == "released-top" else None,
        )

    @property
    def separable(self) -> bool:
        """No task has a say in the frozen layers."""
        asked = [layer.conditional for layer in self.stack.layers[: self.frozen] if isinstance(layer, ConditionalLayer)]
        return super().separable and self.alignment is None and not any(asked)

    @property
    def frozen_layers(self) -> list[nn.Module]:
        return [layer.base if isinstance(layer, ConditionalLayer) else layer for layer in super().frozen_layers]

    @property
    def known(self) -> list[str]:
        return list(self.embeddings)

    def added(self) -> dict[str, list[nn.Parameter]]:
        layers = [layer for layer in self.stack.layers if isinstance(layer, ConditionalLayer)]
        norms = [norm for own in layers for norm in (own.attention_norm, own.output_norm, own.last_norm)]
        return {
            "attention": _parameters(layer.bias for layer in layers),
            "alignment": _parameters([self.alignment]),
            "layer norms": _parameters(norms),
            "bottleneck": _parameters(layer.bottleneck for layer in layers),
            "task vectors": list(self.embeddings.vectors.parameters()),
            "transformation": list(self.embeddings.shared.parameters()),
        }

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "type": "CAMTL", "tasks": list(self.embeddings), "parts": self.parts.model_dump()}

    def add_task(self, task: str, init: str) -> None:
        if task in self.embeddings:
            raise RotaError(f"Expected a task that the encoder does not know yet. Found '{task}'.")
        self.embeddings.add_task(task, init)
        if isinstance(self.alignment, TaskAlignment):
            self.alignment.add_task(task)

    def only_for(self, task: str) -> list[nn.Parameter]:
        aligned = [self.alignment.matrices[task]] if isinstance(self.alignment, TaskAlignment) else []
        return [self.embeddings.vectors[task], *aligned]

    def forward(self, inputs: dict[str, Tensor], whose: Whose | None = None) -> Features:
        if whose is None:
            raise TypeError("a CA-MTL encoder is told whose rows it reads")
        for task in whose.tasks:
            if task not in self.embeddings:
                raise unknown_name("task", task, list(self.embeddings))
        z_T, seen_T = self.embeddings(whose.tasks)
        if "hidden" in inputs:
            hidden, first = inputs["hidden"], self.frozen
        else:
            hidden, first = self.stack.embed(inputs), 0
            if self.alignment is not None:
                hidden = self.alignment(hidden, z_T, whose.tasks, whose.rows)
        hiding, stream = hide_padding(inputs["mask"], hidden.dtype), None
        for layer in self.stack.layers[first : self.depth]:
            hidden, stream = layer(hidden, hiding, stream, seen_T, whose.rows)
        if stream is not None:
            hidden = stream if self._form == "released-stream" else hidden + stream
        return self.pooled(hidden, inputs["mask"])


def _parameters(modules: Iterable[nn.Module | None]) -> list[nn.Parameter]:
    return [parameter for module in modules if module is not None for parameter in module.parameters()]
