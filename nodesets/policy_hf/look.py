"""An image classifier that acts: its label is the action."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.components import PortDef

from .tool import SHARED_CONFIG, HFTool


class Look(HFTool):
    """Choose the label that an image classifier gives what is seen: the model's labels are the actions."""

    node_type = "policy_hf__look"
    display_name = "HF: Look"
    description = "Choose the label that an image classifier gives an image"
    input_ports = [PortDef("image", "IMAGE", "(H, W, 3) uint8")]
    output_ports = [
        PortDef("action", "DISCRETE_ACTION", "the index of the label"),
        PortDef("label", "TEXT"),
        PortDef("scores", "ANY", "(labels,) float32 logits"),
    ]
    default_config = dict(SHARED_CONFIG)

    async def initialize(self) -> None:
        """Load the model. WrongChoice says what is wrong with the config."""
        from transformers import AutoImageProcessor, AutoModelForImageClassification

        from .loading import load

        self.model, self._processor = load(AutoModelForImageClassification, AutoImageProcessor, self.config)

    async def forward(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        samples = inputs["_samples"]
        scores = self._scores([_image(sample["image"]) for sample in samples])
        return {"_outputs": self.acts(samples, scores, "label", self.model.config.id2label)}

    def sample_rows(self, count: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Images of noise, 64 by 96 pixels."""
        return [{"image": rng.integers(0, 256, (64, 96, 3)).astype(np.uint8)} for _ in range(count)]

    def _scores(self, images: list[np.ndarray]) -> np.ndarray:
        """(B, labels) float32."""
        import torch

        # One by one, since images may differ in size, and come out of this in one.
        pixels = [self._processor(images=image, return_tensors="pt")["pixel_values"] for image in images]
        with torch.inference_mode():
            seen = torch.cat(pixels).to(self.config["device"], self.model.dtype)
            return self.model(pixel_values=seen).logits.float().cpu().numpy()


def _image(value: Any) -> np.ndarray:
    image = np.asarray(value)
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"an image is {image.dtype} of shape {image.shape}; it is uint8 of (H, W, 3)")
    return image
