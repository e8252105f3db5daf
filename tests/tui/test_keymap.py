from __future__ import annotations

import pytest
from textual.app import App
from textual.events import Key

from tui.actions import ACTIONS, SCOPES, WHY_NOT, Scope, why_not
from tui.keymap import Keymap, KeymapError, clashes, is_key, make_keymap, textual_key

# Field notes: the terminal, §4.1: the keys that operators were promised.
PROMISED: dict[Scope, str] = {
    "global": (
        "? f1 : ctrl+p / escape 1 2 3 4 5 6 0 tab shift+tab h j k l left down up right g G ctrl+d ctrl+u"
        " pagedown pageup enter backspace - + _ s S , . space v * \\ y Y r ctrl+l @ F b m M q ctrl+c"
    ),
    "runs": "n e R p P x X J K c C",
    "episodes": "e E w W [ ] o L",
    "log": "e E w W n N f t alt+w [ ] { } i o L",
    "lanes": "h l H L z Z .",
}
LOST_TO_OTHERS = {"ctrl+b", "ctrl+a", "ctrl+s", "ctrl+q", "ctrl+j", "ctrl+o"}


@pytest.mark.parametrize("scope", PROMISED)
def test_every_promised_key_does_something_in_its_scope(scope: Scope) -> None:
    bound = {key for action in ACTIONS if action.scope == scope for key in action.keys}
    assert set(PROMISED[scope].split()) <= bound


def test_no_scope_binds_a_key_twice() -> None:
    assert clashes(ACTIONS, {}) == []


def test_every_action_has_an_id_of_its_own_a_scope_and_help() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert action.scope in SCOPES
        assert action.help.endswith(".")
        assert all(is_key(key) for key in action.keys)
        assert set(action.needs) <= WHY_NOT.keys()


def test_nothing_is_on_a_chord_that_tmux_screen_or_an_editor_takes() -> None:
    assert not LOST_TO_OTHERS & {key for action in ACTIONS for key in action.keys}


async def test_textual_names_its_keys_as_the_keymap_does() -> None:
    class Listener(App[None]):
        def __init__(self) -> None:
            super().__init__()
            self.heard: list[str] = []

        def on_key(self, event: Key) -> None:
            self.heard.append(event.key)

    textual_s = {"tab", "shift+tab", "ctrl+p", "ctrl+c"}
    keys = [key for key in PROMISED["global"].split() if not key.isalnum() and key not in textual_s]
    app = Listener()
    async with app.run_test() as pilot:
        await pilot.press(*map(textual_key, keys))
    assert app.heard == [textual_key(key) for key in keys]


def test_a_scope_goes_before_everywhere() -> None:
    keymap = make_keymap({})
    ids = [found.id if (found := keymap.action(key, "lanes")) else "" for key in ("h", "full_stop", "j", "N")]
    assert ids == ["lanes.previous_episode", "lanes.now", "global.down", ""]


def test_rebinding_moves_a_key_and_takes_the_old_one_away() -> None:
    keymap = make_keymap({"runs.cancel": "d", "global.leave": ["q", "Q"], "global.mouse": []})
    assert keymap.action("x", "runs") is None
    assert keymap.action("d", "runs") is keymap.by_id("runs.cancel")
    assert keymap.shown("global.leave") == "q  Q"
    assert keymap.action("m") is None
    assert keymap.by_id("global.mouse") in keymap.commands("mouse")


def test_every_problem_of_the_file_is_told_at_once() -> None:
    with pytest.raises(KeymapError) as caught:
        make_keymap({"runs.cancle": "d", "runs.kill": "ctrl+alt+", "log.wrap": 3, "runs.new": "x"})
    assert caught.value.problems == [
        "there is no action 'runs.cancle': did you mean 'runs.cancel'?",
        "runs.kill: there is no key 'ctrl+alt+'",
        "log.wrap: must be a key, or a list of keys",
        "'x' is bound to both runs.new and runs.cancel: change one",
    ]


def test_the_help_of_a_scope_leaves_out_what_it_covers() -> None:
    sections = dict(make_keymap({}).help("lanes"))
    assert list(sections) == ["Workers", "Everywhere"]
    everywhere = {line.action.id for line in sections["Everywhere"]}
    assert "global.sort_right" not in everywhere
    assert {"global.sort_left", "global.shutdown"} <= everywhere


def test_the_footer_shows_the_scope_first() -> None:
    labels = [line.action.label for line in make_keymap({}).footer("runs")]
    assert labels[:2] == ["new", "pause"]
    assert "help" in labels


def test_a_command_is_found_by_the_words_of_its_help() -> None:
    keymap: Keymap = make_keymap({})
    assert keymap.commands("cancel", "runs")[0].id == "runs.cancel"
    assert [action.id for action in keymap.commands("typed yes")] == ["global.shutdown"]


def test_what_cannot_be_done_says_why() -> None:
    cancel = make_keymap({}).by_id("runs.cancel")
    assert why_not(cancel, {"run", "live run"}) == "the screen was started with --read-only"
    assert why_not(cancel, {"writable", "run"}) == "the run is over"
    assert why_not(cancel, {"writable", "run", "live run"}) is None


def test_an_error_of_the_keys_names_the_file() -> None:
    with pytest.raises(KeymapError, match=r"^evaltower\.toml: \[keys\] there is no action 'runs\.nwe'"):
        make_keymap({"runs.nwe": "n"})
