"""What every task of a YAML file says of itself."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from rota.settings import refuse_yes


class DescribedTask(BaseModel):
    """One task of a YAML file. Paths are relative to the file, or to the folder with data sets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    kind: str
    train: str | None = Field(None, description="file or folder")
    dev: str | float | None = Field(None, description="file, or the share of the training rows that is cut off for it")
    test: str | None = None
    auxiliary: bool = False
    batch_size: int | None = Field(None, ge=1)
    loss_weight: float = Field(1.0, ge=0, allow_inf_nan=False)
    stop_after: int | None = Field(None, ge=1)
    folder: str = Field("", exclude=True, description="of the file that describes it")

    @field_validator("*", mode="before")
    @classmethod
    def _yes_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        return refuse_yes(value, cls.model_fields[info.field_name or ""].annotation)
