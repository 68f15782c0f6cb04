"""sentence-transformers' trainer: a mixin.

    class MyTrainer(rota.integrations.sentence_transformers.Mixing, SentenceTransformerTrainer):
        pass

    policy = rota.Exp3S(["nli", "sts"])
    MyTrainer(model, args, train_dataset={"nli": nli, "sts": sts}, loss=losses, policy=policy).train()

Sources and losses have names, as the trainer knows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sentence_transformers.sentence_transformer.training_args import BatchSamplers

from rota.errors import RotaError
from rota.integrations import hf
from rota.integrations._versions import require
from rota.mixing import JoinedDataset, Mix, join

__all__ = ["Mixing"]

require("sentence-transformers", "6.0", "7")


class Mixing(hf.Mixing):
    """A SentenceTransformerTrainer whose batches a policy chooses; see `rota.integrations.hf.Mixing`.

    Args:
        train_dataset: Data sets by name, as the trainer takes them.

    The program of docs/hosts/sentence-transformers.md:

        class MyTrainer(rota.integrations.sentence_transformers.Mixing, SentenceTransformerTrainer):
            pass

        policy = rota.Exp3S(["nli", "sts"])
        MyTrainer(model, args, train_dataset={"nli": nli, "sts": sts}, loss=losses, policy=policy).train()
    """

    host_takes_names = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = kwargs.get("train_dataset")
        if isinstance(given, JoinedDataset):
            kwargs["train_dataset"] = given.datasets
        super().__init__(*args, **kwargs)

    def sources(self) -> Any:
        if not isinstance(self.train_dataset, Mapping):
            raise RotaError(
                f"Mixing expects data sets by name, train_dataset={{'nli': nli, …}}. Found a "
                f"{type(self.train_dataset).__name__}."
            )
        if self.args.batch_sampler != BatchSamplers.BATCH_SAMPLER:
            raise RotaError(
                f"Mixing draws the rows of a batch itself. Found batch_sampler={self.args.batch_sampler}, which would "
                f"not be kept: leave it out."
            )
        return join(self.train_dataset)

    def get_multi_dataset_batch_sampler(self, *_: Any, **__: Any) -> Mix:
        """The trainer puts its data sets one behind the other in the order of their names, as the mix does."""
        return self.mix
