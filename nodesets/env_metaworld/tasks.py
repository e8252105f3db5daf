"""The fifty tasks of Meta-World v3, which MT50 plays in this order. The library has them too; but what may be
selected is told where it is not installed, and before it is imported."""

from __future__ import annotations

_FIFTY = """
assembly basketball bin-picking box-close button-press-topdown button-press-topdown-wall button-press
button-press-wall coffee-button coffee-pull coffee-push dial-turn disassemble door-close door-lock
door-open door-unlock drawer-close drawer-open faucet-close faucet-open hammer hand-insert
handle-press-side handle-press handle-pull-side handle-pull lever-pull peg-insert-side peg-unplug-side
pick-out-of-hole pick-place pick-place-wall plate-slide-back-side plate-slide-back plate-slide-side
plate-slide push-back push push-wall reach reach-wall shelf-place soccer stick-pull stick-push sweep-into
sweep window-close window-open
"""
TASKS = [f"{name}-v3" for name in _FIFTY.split()]
