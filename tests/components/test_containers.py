import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.components.bases import ContainerDef, StateDef
from engine.components.containers import ContainerStore, RecordingContainers
from engine.graph.model import Container, State

LIFETIMES = {
    "forever": None,
    "step": "step_end",
    "episode": "episode_reset",
    "run": "run_end",
    "custom": "crash",
}
SIGNALS = ["run_start", "step_start", "step_end", "run_end", "episode_reset", "crash", "other"]
KEYS = [None, "a", "b"]

DEFINITIONS = [
    {
        "id": "memory",
        "states": {
            "history": {"type": "accumulator", "config": {"max_size": 3}},
            "count": {"type": "counter", "config": {"initial_value": 2}, "lifetime": "forever"},
            "last": {"type": "lastWrite", "config": {"initial_value": ["none yet"]}, "lifetime": "step"},
        },
    },
    {"id": "other", "states": {"note": {}}},
]


def one(**state):
    return ContainerStore([{"id": "c", "states": {"s": state}}]).access("c")


def test_reducers_append_overwrite_and_add():
    store = ContainerStore(DEFINITIONS)
    memory = store.access("memory")
    for value in range(5):
        memory.write("history", value)
        memory.write("count", value)
        memory.write("last", value)
    assert memory.read("history") == [2, 3, 4]
    assert memory.read("count") == 12
    assert memory.read("last") == 4


def test_unwritten_states_read_their_initial_values():
    assert one().read("s") is None
    assert one(type="counter").read("s") == 0
    assert one(type="accumulator").read("s") == []
    assert one(config={"initial_value": False}).read("s") is False
    seeded = one(type="accumulator", config={"initial_value": ["start"]})
    seeded.write("s", "next")
    assert seeded.read("s") == ["start", "next"]


def test_an_initial_value_is_not_shared_between_reads_or_with_its_definition():
    definition = {"config": {"initial_value": {"seen": []}}}
    container = one(**definition)
    container.read("s")["seen"].append(1)
    assert container.read("s") == {"seen": []}
    assert definition["config"]["initial_value"] == {"seen": []}


def test_a_read_history_does_not_grow_behind_its_reader():
    container = one(type="accumulator")
    container.write("s", 1)
    seen = container.read("s")
    container.write("s", 2)
    assert seen == [1]


@pytest.mark.parametrize("lifetime", LIFETIMES)
@pytest.mark.parametrize("signal", SIGNALS)
def test_a_state_is_reset_by_the_signal_of_its_lifetime_and_no_other(lifetime, signal):
    state = {"type": "counter", "lifetime": lifetime, "reset_on": ["crash"]}
    store = ContainerStore([{"id": "c", "states": {"s": state}}])
    container = store.access("c")
    container.write("s", 5)
    container.write("s", 7, key="a")
    store.signal(signal)
    reset = LIFETIMES[lifetime] == signal
    assert (container.read("s"), container.read("s", key="a")) == ((0, 0) if reset else (5, 7))


def test_partitions_are_apart_and_evicted_alone():
    store = ContainerStore(DEFINITIONS)
    memory = store.access("memory")
    memory.write("count", 1, key="a")
    memory.write("count", 5, key="b")
    store.access("other").write("note", "x", key="a")
    memory.evict("b")
    assert (memory.read("count"), memory.read("count", "a"), memory.read("count", "b")) == (2, 3, 2)
    store.evict("a")
    assert memory.read("count", "a") == 2
    assert store.access("other").read("note", "a") is None


def test_graph_containers_and_nodeset_containers_are_definitions_too():
    in_graph = Container("g", states={"s": State("accumulator", config={"max_size": 1})})
    in_nodeset = ContainerDef("n", states={"s": StateDef("counter", lifetime="custom", reset_on=["crash"])})
    store = ContainerStore([in_graph, in_nodeset])
    store.access("g").write("s", 1)
    store.access("g").write("s", 2)
    store.access("n").write("s", 3)
    assert store.snapshot() == {"g": {"values": {"s": [2]}}, "n": {"values": {"s": 3}}}
    store.signal("crash")
    assert store.access("n").read("s") == 0


def test_what_is_not_declared_or_not_granted_is_named_with_what_is():
    store = ContainerStore(DEFINITIONS)
    with pytest.raises(KeyError, match=r"no state 'hist'; it has 'history', 'count', 'last'"):
        store.access("memory").read("hist")
    with pytest.raises(KeyError, match=r"no state 'hist'"):
        store.access("memory").write("hist", 1)
    with pytest.raises(KeyError, match=r"no container 'mem'; declared: 'memory', 'other'"):
        store.access("mem")
    for granted in (store.granted(["other"]), RecordingContainers(store.export(["other"]))):
        assert granted.get("memory") is None
        with pytest.raises(KeyError, match=r"'memory' is not granted to this node; granted: 'other'"):
            granted["memory"]
    with pytest.raises(KeyError, match="granted: none"):
        store.granted([])["memory"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"type": "set"}, r"container 'c', state 's': type must be one of 'lastWrite', .* not 'set'"),
        ({"lifetime": "day"}, r"container 'c', state 's': lifetime must be one of 'forever', .* not 'day'"),
        ({"type": "accumulator", "config": {"max_size": 0}}, "max_size must be a positive integer, not 0"),
        (
            {"type": "accumulator", "config": {"max_size": "9"}},
            "max_size must be a positive integer, not '9'",
        ),
        ({"type": "accumulator", "config": {"initial_value": 1}}, "initial_value must be a list, not 1"),
        ({"type": "counter", "config": {"initial_value": "1"}}, "initial_value must be a number, not '1'"),
    ],
)
def test_a_wrong_definition_is_refused_with_its_field(state, message):
    with pytest.raises(ValueError, match=message):
        one(**state)


def test_two_containers_of_one_id_are_refused():
    with pytest.raises(ValueError, match="'c' is declared twice"):
        ContainerStore([{"id": "c"}, {"id": "c"}])


def test_a_counter_adds_numbers_only():
    with pytest.raises(TypeError, match=r"container 'c', state 's': a counter adds numbers, not str"):
        one(type="counter").write("s", "1")


def test_a_host_reads_its_own_writes_and_they_are_applied_when_sent_back():
    store = ContainerStore(DEFINITIONS)
    store.access("memory").write("history", "before")
    there = RecordingContainers(json.loads(json.dumps(store.export(["memory"]))))
    there["memory"].write("history", "now")
    there["memory"].write("count", 1, key="a")
    assert there["memory"].read("history") == ["before", "now"]
    assert store.access("memory").read("history") == ["before"]
    store.apply(json.loads(json.dumps(there.writes)))
    assert store.access("memory").read("history") == ["before", "now"]
    assert store.access("memory").read("count", "a") == 3


def test_a_write_that_failed_is_not_sent_back():
    there = RecordingContainers(ContainerStore(DEFINITIONS).export(["memory"]))
    with pytest.raises(TypeError):
        there["memory"].write("count", "many")
    assert there.writes == []


def test_an_unknown_operation_is_refused():
    with pytest.raises(ValueError, match="container 'other': unknown operation 'drop'"):
        ContainerStore(DEFINITIONS).apply([{"op": "drop", "container": "other"}])


values = st.one_of(st.integers(-5, 5), st.text(max_size=3), st.lists(st.integers(), max_size=2))
writes = st.one_of(
    st.tuples(st.just("history"), values, st.sampled_from(KEYS)),
    st.tuples(st.just("count"), st.integers(-5, 5), st.sampled_from(KEYS)),
    st.tuples(st.just("last"), values, st.sampled_from(KEYS)),
    st.tuples(st.just("evict"), st.none(), st.sampled_from(["a", "b"])),
)


def perform(container, operation):
    name, value, key = operation
    if name == "evict":
        container.evict(key)
    else:
        container.write(name, value, key=key)


@given(firings=st.lists(st.tuples(st.lists(writes, max_size=5), st.sampled_from(SIGNALS)), max_size=6))
def test_firing_here_or_in_another_process_leaves_the_same_state(firings):
    here, away = ContainerStore(DEFINITIONS), ContainerStore(DEFINITIONS)
    for operations, signal in firings:
        there = RecordingContainers(json.loads(json.dumps(away.export(["memory"]))))
        for operation in operations:
            perform(here.granted(["memory"])["memory"], operation)
            perform(there["memory"], operation)
            for name in ("history", "count", "last"):
                for key in KEYS:
                    assert there["memory"].read(name, key) == here.access("memory").read(name, key)
        away.apply(json.loads(json.dumps(there.writes)))
        here.signal(signal)
        away.signal(signal)
        assert here.snapshot() == away.snapshot()


@given(operations=st.lists(writes, max_size=30))
def test_states_are_what_a_plain_reading_of_the_contract_says(operations):
    container = ContainerStore(DEFINITIONS).access("memory")
    for operation in operations:
        perform(container, operation)
    for key in KEYS:
        since = max(
            (i + 1 for i, (name, _, k) in enumerate(operations) if name == "evict" and k == key), default=0
        )
        written = {
            state: [v for name, v, k in operations[since:] if name == state and k == key]
            for state in ("history", "count", "last")
        }
        assert container.read("history", key) == written["history"][-3:]
        assert container.read("count", key) == 2 + sum(written["count"])
        assert container.read("last", key) == (written["last"] or [["none yet"]])[-1]


def test_a_container_out_of_a_composite_goes_by_its_name_there_and_here():
    states = {"s": State("accumulator")}
    store = ContainerStore([Container("box__c", states=states, name="c"), Container("d", states=states)])
    assert set(store.granted(["box__c", "d"])) == {"c", "d"}
    elsewhere = RecordingContainers(json.loads(json.dumps(store.export(["box__c", "d"]))))
    elsewhere["c"].write("s", 1)
    elsewhere["c"].write("s", 2, key="k")
    store.apply(elsewhere.writes)
    assert store.snapshot()["box__c"] == {"values": {"s": [1]}, "keyed": {"s": {"k": [2]}}}
    with pytest.raises(KeyError, match=r"granted: 'c', 'd'"):
        elsewhere["box__c"]
