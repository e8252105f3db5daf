"""The keys of a batched tool's one input and one output."""

from engine.components.agentcanvas.canvas_only import canvas_only

SAMPLES_KEY = "_samples"
OUTPUTS_KEY = "_outputs"

__getattr__ = canvas_only(__name__)
