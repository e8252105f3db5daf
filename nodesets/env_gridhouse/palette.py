"""What a house is made of: the names that instructions use, and the colours that frames show.

Rooms are pale and objects are saturated, so that neither a person nor a small policy mixes them up.
"""

from __future__ import annotations

from typing import NamedTuple, Tuple

RGB = Tuple[int, int, int]


class RoomLook(NamedTuple):
    """``floor`` and ``floor_alt`` alternate in the pattern ``checks``, ``planks`` or ``plain``."""

    floor: RGB
    floor_alt: RGB
    wall: RGB
    pattern: str


ROOMS: dict[str, RoomLook] = {
    "kitchen": RoomLook((225, 225, 220), (150, 150, 150), (235, 215, 160), "checks"),
    "bedroom": RoomLook((160, 140, 175), (160, 140, 175), (205, 190, 225), "plain"),
    "bathroom": RoomLook((120, 180, 185), (205, 230, 230), (190, 225, 225), "checks"),
    "living room": RoomLook((165, 120, 80), (145, 102, 66), (225, 200, 185), "planks"),
    "study": RoomLook((90, 110, 90), (90, 110, 90), (170, 190, 160), "plain"),
    "dining room": RoomLook((120, 75, 60), (98, 60, 48), (205, 150, 135), "planks"),
    "garage": RoomLook((105, 105, 110), (105, 105, 110), (150, 150, 158), "plain"),
    "nursery": RoomLook((200, 175, 125), (175, 200, 150), (240, 220, 235), "checks"),
}

COLOURS: dict[str, RGB] = {
    "red": (220, 30, 30),
    "green": (30, 170, 40),
    "blue": (40, 70, 230),
    "yellow": (245, 215, 20),
    "purple": (150, 30, 190),
    "orange": (250, 130, 10),
}

DOORWAY = RoomLook((70, 50, 35), (70, 50, 35), (95, 70, 50), "plain")
CEILING: RGB = (245, 245, 240)

# 12 x 12 texels: '#' the object's colour, '+' lit, '-' in shade, 'o' dark trim, '.' nothing.
SPRITES: dict[str, tuple[str, ...]] = {
    "ball": (
        "............",
        "............",
        "............",
        "............",
        "....####....",
        "..##++####..",
        ".##+++#####.",
        ".##++######.",
        ".########--.",
        ".#######---.",
        "..####----..",
        "....----....",
    ),
    "box": (
        "............",
        "............",
        "............",
        "............",
        "++++++++++++",
        "++++++++++++",
        "oooooooooooo",
        "#####oo#####",
        "#####oo#####",
        "############",
        "############",
        "------------",
    ),
    "chair": (
        "##..........",
        "##..........",
        "##..........",
        "##..........",
        "##..........",
        "##..........",
        "++++++++++++",
        "############",
        "--........--",
        "--........--",
        "--........--",
        "--........--",
    ),
    "lamp": (
        "...######...",
        "..##++++##..",
        "..#++++++#..",
        ".##++++++##.",
        ".##########.",
        ".....oo.....",
        ".....oo.....",
        ".....oo.....",
        ".....oo.....",
        ".....oo.....",
        ".....oo.....",
        "...oooooo...",
    ),
    "vase": (
        "....oooo....",
        "....#+#-....",
        ".....##.....",
        ".....##.....",
        "....#+#-....",
        "...#++##-...",
        "..#++###--..",
        "..#++###--..",
        "..#+####--..",
        "...####--...",
        "....##--....",
        "....oooo....",
    ),
}
