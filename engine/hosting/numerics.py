"""What the bits of a model's outputs depend on beside its inputs: pinned here, and described. Python 3.8+.

torch is never imported here, only adjusted once the nodeset has imported it.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from operator import attrgetter
from typing import Any

PINNED_ENV: dict[str, str] = {
    # One thread whatever the machine or the number of workers: sums are split by thread.
    "OMP_NUM_THREADS": "1",
    "OMP_DYNAMIC": "FALSE",
    "OPENBLAS_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MKL_DYNAMIC": "FALSE",
    # The mode in which MKL's matrix products were measured not to depend on the size of the batch.
    "MKL_CBWR": "AUTO,STRICT",
    # Without room for split-k, cuBLAS adds in one order; no TF32 in any NVIDIA library.
    "CUBLAS_WORKSPACE_CONFIG": ":16:8",
    "CUBLASLT_WORKSPACE_SIZE": "1",
    "NVIDIA_TF32_OVERRIDE": "0",
    # Sets of strings iterate in the same order in every process.
    "PYTHONHASHSEED": "0",
}
"""Environment of every host, before its nodeset's own ``env``. Libraries read it once, as they load."""

_TORCH_FLAGS = (
    ("backends.cuda.matmul", "allow_tf32", False),
    ("backends.cuda.matmul", "allow_fp16_reduced_precision_reduction", False),
    ("backends.cuda.matmul", "allow_bf16_reduced_precision_reduction", False),
    ("backends.cudnn", "allow_tf32", False),
    ("backends.cudnn", "benchmark", False),
    ("backends.cudnn", "deterministic", True),
)
_CAPABILITIES = ("avx512f", "avx2", "avx", "sse4_2", "asimd")
_MODEL_LIBRARIES = ("onnxruntime", "stable_baselines3", "transformers")
_BLAS = re.compile(
    r"/((?:lib)?[^/\s]*(?:blas|mkl_core|mkl_rt|blis)[^/\s]*\.(?:so|dylib)[^/\s]*)$", re.MULTILINE
)


def pin_torch() -> bool:
    """Pin torch, if it is loaded, for the calling thread: its thread count holds for that thread only."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return False
    torch.set_num_threads(1)
    for place, flag, value in _TORCH_FLAGS:
        with suppress(
            AttributeError, AssertionError
        ):  # a version that lacks the flag lacks what it turns off
            setattr(attrgetter(place)(torch), flag, value)
    with suppress(AttributeError, TypeError):  # before 1.11 it cannot only warn, and would break models
        torch.use_deterministic_algorithms(True, warn_only=True)
    return True


def modules_of(owner: Any) -> list[Any]:
    """The torch modules that a tool holds, itself or through an object it refers to (its nodeset, say)."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return []
    near = list(vars(owner).values())
    far = [value for item in near for value in getattr(item, "__dict__", {}).values()]
    return [item for item in near + far if isinstance(item, torch.nn.Module)]


def training_layer(owner: Any) -> str | None:
    """A layer in train mode whose rows depend on the batch or on chance, by its name; None: there is none."""
    for model in modules_of(owner):
        for name, layer in model.named_modules():
            kind = getattr(layer, "original_name", type(layer).__name__)
            rate = getattr(layer, "dropout", 0.0)
            random = "Dropout" in kind or (isinstance(rate, float) and rate > 0.0)
            if layer.training and (random or "BatchNorm" in kind):
                return f"{name or 'model'} ({kind})"
    return None


def reduced_precision(owner: Any) -> bool:
    """Whether a torch module of ``owner`` has parameters of 16 bits or fewer."""
    return any(
        parameter.is_floating_point() and parameter.element_size() <= 2
        for model in modules_of(owner)
        for parameter in model.parameters()
    )


def describe() -> dict[str, Any]:
    """What of this process and thread decides bits: ``{threads, cpu, versions, mkl_cbwr}``."""
    torch: Any = sys.modules.get("torch")
    numpy: Any = sys.modules.get("numpy")
    versions = {"python": platform.python_version(), "blas": _blas_libraries()}
    if numpy is not None:
        versions["numpy"] = numpy.__version__
    for name in _MODEL_LIBRARIES:
        if name in sys.modules:
            versions[name] = sys.modules[name].__version__
    if torch is not None:
        versions["torch"] = torch.__version__
        if torch.cuda.is_initialized():
            versions["cudnn"] = torch.backends.cudnn.version()
            versions["gpu"] = torch.cuda.get_device_name()
    return {
        "threads": {
            "torch": torch.get_num_threads() if torch is not None else None,
            "blas": _count(os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS", "")),
        },
        "cpu": _cpu(torch),
        "versions": versions,
        "mkl_cbwr": os.environ.get("MKL_CBWR"),
    }


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _cpu(torch: Any) -> str:
    """Model and capability, e.g. ``Intel(R) Xeon(R) Processor, AVX512``; the capability as torch uses it."""
    text = _read("/proc/cpuinfo")
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    known = flags.group(1).split() if flags else []
    capability = next((name for name in _CAPABILITIES if name in known), platform.machine())
    used = re.search(r"CPU capability usage: (\w+)", torch.__config__.show()) if torch is not None else None
    return f"{model.group(1) if model else platform.machine()}, {used.group(1) if used else capability}"


def _blas_libraries() -> list[str]:
    """Names of the BLAS libraries mapped into this process; wheels put a hash of the build into the name."""
    return sorted(set(_BLAS.findall(_read("/proc/self/maps"))))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
