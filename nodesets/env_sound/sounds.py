"""Made-up sounds of one second: voices that sing vowels, and what is no voice. Pure numpy."""

from __future__ import annotations

import numpy as np

RATE = 16_000
"""Samples a second."""

CHUNK, CONTEXT = 512, 64
"""A window: this many new samples, after this many of those before; what silero-vad hears at 16 kHz."""

WINDOWS = RATE // CHUNK

# The first three formants of vowels, in Hz: Peterson and Barney 1952, men's averages.
_VOWELS = np.array(
    [[730, 1090, 2440], [270, 2290, 3010], [300, 870, 2240], [530, 1840, 2480], [570, 840, 2410]]
)
_SYLLABLE_SEC, _BANDWIDTH_HZ = 0.2, 80.0


def voice(rng: np.random.Generator) -> np.ndarray:
    """Five vowels on a gliding pitch: its harmonics, as loud as the formants let them through."""
    time = np.arange(RATE) / RATE
    pitch = rng.uniform(100, 220) * (
        1 + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 3) * time + rng.uniform(0, 6))
    )
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    syllable = (time / _SYLLABLE_SEC).astype(int)
    formants = _VOWELS[rng.integers(len(_VOWELS), size=syllable[-1] + 1)][syllable]
    sound = np.zeros(RATE)
    for harmonic in range(1, 30):
        off = (harmonic * pitch[:, None] - formants) / _BANDWIDTH_HZ
        sound += (1 / (1 + off**2)).sum(1) * np.sin(harmonic * phase) / np.sqrt(harmonic)
    sound *= np.sqrt(np.abs(np.sin(np.pi * time / _SYLLABLE_SEC)))
    return 0.5 * sound / np.abs(sound).max()


def other(rng: np.random.Generator) -> np.ndarray:
    """Hiss, or a tone that swells."""
    if rng.random() < 0.5:
        return rng.normal(0, rng.uniform(0.02, 0.2), RATE)
    time = np.arange(RATE) / RATE
    return 0.4 * np.sin(2 * np.pi * rng.uniform(200, 2000) * time) * np.sin(np.pi * time)


def sound(seed: int) -> tuple[np.ndarray, bool]:
    """(Windows (WINDOWS, CONTEXT + CHUNK) float32 with a bit of hiss, whether it is a voice); half are."""
    rng = np.random.Generator(np.random.PCG64(seed))
    is_voice = bool(rng.integers(2))
    samples = (voice if is_voice else other)(rng) + rng.normal(0, 0.002, RATE)
    padded = np.concatenate([np.zeros(CONTEXT), samples]).astype(np.float32)
    starts = np.arange(WINDOWS)[:, None] * CHUNK
    return padded[starts + np.arange(CONTEXT + CHUNK)], is_voice
