"""Language models: one network that says what comes next, in any task."""

from rota.models.language._language_model import LanguageModel, fingerprint
from rota.models.language._named_models import build_language_model, language_model
from rota.models.language._shared_lora import SharedLoRA, make_shared_lora

__all__ = [
    "LanguageModel",
    "SharedLoRA",
    "build_language_model",
    "fingerprint",
    "language_model",
    "make_shared_lora",
]
