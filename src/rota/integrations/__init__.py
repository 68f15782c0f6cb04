"""Trainers of others, in which a policy of the house chooses the batches.

Each module is for one host and is imported by name: `rota.integrations.hf` (transformers' Trainer, trl's SFTTrainer),
`trl` (GRPO), `sentence_transformers`, `lightning`, `accelerate`. They use what the hosts document, and nothing private.
"""

__all__: list[str] = []
