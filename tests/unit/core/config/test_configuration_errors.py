"""The configuration file when it is wrong: every mistake, with its line and the sentence that people get."""

import pickle

import pytest

from stromboli.core.config.configuration import DEFAULT_TEXT, ConfigurationError
from stromboli.core.config.configuration_errors import MAX_PROBLEMS
from stromboli.core.config.yaml_lines import MAXIMUM_BYTES, MAXIMUM_DEPTH
from tests.unit.core.config.sample_configuration import complaints, one_plugin, parse

TIERS = "\ntiers: [plugins: [name: gang]]"
LAUGHS = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))])
MISTAKES = [
    # the whole text
    ("empty text", "", 1, "the configuration is empty"),
    ("only a comment", "# nothing\n", 1, "the configuration is empty"),
    ("a list", "- a", 1, "expected a mapping with actions and tiers, not a list"),
    ("a word", "\n\nallocate", 3, "expected a mapping with actions and tiers, not 'allocate'"),
    ("not YAML", "actions: 'allocate\ntiers:", 2, "not readable as YAML: found unexpected end of stream"),
    ("a tab", "actions: allocate\n\ttiers:", 2, "not readable as YAML"),
    ("two documents", DEFAULT_TEXT + "---\na: 1", 16, "a second document begins here"),
    ("a control character", "actions: x\nb: \x01", 2, "not readable as YAML: control characters are not allowed"),
    ("half a character", "actions: x\nb: \ud800", 2, "not readable as text; save it as UTF-8"),
    ("too large", "#" * (MAXIMUM_BYTES + 1), 1, "the text is larger than 64 KiB"),
    ("too large in bytes", "#" + "é" * (MAXIMUM_BYTES // 2), 1, "the text is larger than 64 KiB"),
    ("too deep", "a: " + "[" * MAXIMUM_DEPTH, 1, "nested deeper than 32 levels"),
    ("absurdly deep", "[" * MAXIMUM_BYTES, 1, "nested deeper than 32 levels"),
    ("alias without anchor", "actions: allocate\ntiers: *a", 2, "found undefined alias; correct it, or quote the text"),
    ("alias in its own anchor", "actions: allocate\ntiers: &a\n- *a", 2, "nested deeper than 32 levels with its"),
    ("aliases without end", LAUGHS, 6, "aliases expand to more than 65536 values; write fewer of them"),
    ("merged list of words", f"actions: allocate{TIERS}\n<<: [a]", 3, "a merge key (<<) needs a mapping or a list"),
    ("tag", "actions: !!python/object:os.system x", 1, "are not supported; remove it"),
    ("tag on a list", "tiers: !!set {a}", 1, "tags ('tag:yaml.org,2002:set') are not supported"),
    ("list as key", f"actions: allocate{TIERS}\n? [a]\n: 1", 3, "a list or mapping cannot be a key"),
    ("key twice", f"actions: allocate{TIERS}\nactions: enqueue", 3, "key 'actions' is set twice (first in line 1)"),
    # bind
    ("bind as a word", f"actions: allocate{TIERS}\nbind: request", 3, "bind must be a mapping, not "),
    ("a mode of no meaning", f"actions: allocate{TIERS}\nbind: {{mode: later}}", 3, "expected direct or request, got"),
    ("no time at all", f"actions: allocate{TIERS}\nbind: {{deadlineSeconds: 0}}", 3, "expected at least 1, got 0"),
    # actions
    ("no actions", TIERS, 2, "the key 'actions' is missing"),
    ("empty actions", f'actions: ""{TIERS}', 1, "actions is empty; name at least one"),
    ("blank actions", f'actions: " "{TIERS}', 1, "actions is empty"),
    ("null actions", f"actions:{TIERS}", 1, "actions is empty"),
    ("no action in the list", f"actions: []{TIERS}", 1, "actions is empty"),
    ("a comma too much", f'actions: "allocate, "{TIERS}', 1, "actions has an empty name; remove the extra comma"),
    ("actions as a mapping", f"actions: {{allocate: true}}{TIERS}", 1, "or a list of names, not a mapping"),
    ("actions as a number", f"actions: 0{TIERS}", 1, "or a list of names, not 0"),
    ("a number among actions", f"actions:\n- allocate\n- 3{TIERS}", 3, "the name of an action must be a text, not 3"),
    ("misspelt action", f"actions: enqueue, alocate{TIERS}", 1, "unknown action 'alocate'; did you mean 'allocate'?"),
    ("misspelt in a list", f"actions:\n- alocate{TIERS}", 2, "unknown action 'alocate'; did you mean 'allocate'?"),
    ("unknown action", f"actions: xyzzy{TIERS}", 1, "unknown action 'xyzzy'; known are: allocate, backfill, enqueue"),
    # tiers
    ("tiers as a mapping", "actions: allocate\ntiers: {plugins: []}", 2, "tiers must be a list, not a mapping"),
    ("a tier as a list", "actions: allocate\ntiers:\n- - name: gang", 3, "a tier must be a mapping with 'plugins'"),
    ("plugins as a mapping", "actions: allocate\ntiers:\n- plugins: {name: gang}", 3, "plugins must be a list, not a"),
    # plugins
    ("plugin as a word", one_plugin("- gang"), 4, "a plugin must be a mapping; write 'name: ' before 'gang'"),
    ("plugin as a list", one_plugin("- [gang]"), 4, "a plugin must be a mapping with a name, not a list"),
    ("no name", one_plugin("- arguments: {}"), 4, "the name of a plugin must be a text, not nothing"),
    ("name as a number", one_plugin("- name: 3"), 4, "the name of a plugin must be a text, not 3"),
    ("empty name", one_plugin("- name: ''"), 4, "the name of a plugin must be a text, not ''"),
    ("misspelt plugin", one_plugin("- name: proportoin"), 4, "unknown plugin 'proportoin'; did you mean 'proportion'?"),
    ("capitals", one_plugin("- name: GANG"), 4, "unknown plugin 'GANG'; did you mean 'gang'?"),
    ("line of the name", one_plugin("- arguments: {}\n  name: gnag"), 5, "unknown plugin 'gnag'; did you mean 'gang'?"),
    ("unknown plugin", one_plugin("- name: xyzzy"), 4, "unknown plugin 'xyzzy'; known are: binpack, conformance, "),
    ("a name without end", one_plugin(f"- name: {'x' * 999}"), 4, f"unknown plugin '{'x' * 57}...'; known are"),
    # switches
    ("switch as a text", one_plugin("- name: gang\n  enableJobOrder: 'no'"), 5, "must be true or false, not 'no'"),
    ("switch twice", one_plugin("- name: gang\n  enableJobOrder: on\n  enableJobOrder: on"), 6, "is set twice"),
    # arguments
    ("arguments as a list", one_plugin("- name: gang\n  arguments: []"), 5, "must be a mapping, not a list"),
    *(
        (
            f"weight {value}",
            one_plugin(f"- name: binpack\n  arguments: {{{key}: {value}}}"),
            5,
            f"argument '{key}' of plugin 'binpack': {sentence}",
        )
        for key, value, sentence in [
            ("binpack.weight", "many", "expected a whole number, got 'many'"),
            ("binpack.weight", "1.5", "expected a whole number, got 1.5"),
            ("binpack.weight", "true", "expected a whole number, got True"),
            ("binpack.weight", "-1", "expected at least 0, got -1"),
            ("binpack.weight", "'1O'", "expected a whole number, got '1O'"),
            ("binpack.weight", "'1.5'", "expected a whole number, got '1.5'"),
            ("binpack.weight", "99999999999999999999", "expected a whole number, got 1e+20"),
            ("binpack.cpu", ".nan", "expected a finite number, got nan"),
            ("binpack.cpu", ".inf", "expected a finite number, got inf"),
            ("binpack.cpu", "-.inf", "expected a finite number, got -inf"),
            ("binpack.cpu", "1e999", "expected a finite number, got inf"),
            ("binpack.resources", "[a]", "expected a text, got ['a']"),
            ("binpack.resources.a", "b", "expected a whole number, got 'b'"),
        ]
    ),
    (
        "infinity deep inside",
        one_plugin("- name: predicates\n  arguments:\n    strategies:\n    - params:\n        cpu: .inf"),
        8,
        "argument 'strategies' of plugin 'predicates': expected a finite number, got inf",
    ),
    # configurations and metrics
    ("configurations as a mapping", f"actions: allocate{TIERS}\nconfigurations: {{}}", 3, "must be a list, not a"),
    ("configuration as a word", f"actions: allocate{TIERS}\nconfigurations:\n- preempt", 4, "must be a mapping, not"),
    ("configuration of nothing", f"actions: allocate{TIERS}\nconfigurations:\n- {{}}", 4, "must name an action"),
    ("metrics as a word", f"actions: allocate{TIERS}\nmetrics: prometheus", 3, "metrics must be a mapping, not"),
    ("metrics without an address", f"actions: allocate{TIERS}\nmetrics:\n  interval: 5s", 3,
     "metrics: the key 'address' is missing; set the address of prometheus"),
    ("metrics of an unknown type", f"actions: allocate{TIERS}\nmetrics: {{type: graphite}}", 3,
     "argument 'type' of metrics: expected prometheus or prometheus_adaptor or prometheus_adapt or metrics-server or"),
    ("metrics from no address", f"actions: allocate{TIERS}\nmetrics:\n  address: prometheus:9090", 4,
     "'prometheus:9090' is no address; write one such as https://prometheus.monitoring:9090"),
    ("a user without a host", f"actions: allocate{TIERS}\nmetrics:\n  address: http://a:b@", 4, "is no address"),
    ("a time that is none", f"actions: allocate{TIERS}\nmetrics:\n  address: http://c\n  interval: soon", 5,
     "argument 'interval' of metrics: 'soon' is not a duration"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line", "sentence"), MISTAKES, ids=[case[0] for case in MISTAKES])
def test_error_is_reported_with_its_line(name: str, text: str, line: int, sentence: str) -> None:
    found = complaints(text)
    assert any(f.startswith(f"scheduler.conf:{line}: ") and sentence in f for f in found), "\n".join(found)


def test_all_errors_are_reported_in_file_order() -> None:
    text = """\
    action: allocate
    configurations: 3
    tiers:
    - plugins:
      - name: gnag
        enableJobOrder: perhaps
      - name: binpack
        arguments:
          binpack.weight: heavy
          binpack.cpu: .nan
    """
    assert [line.split(": ")[0] for line in complaints(text)] == [
        f"scheduler.conf:{number}" for number in (1, 2, 5, 6, 9, 10)
    ]


def test_number_of_reported_errors_is_limited() -> None:
    found = complaints(one_plugin("\n".join(f"- name: gang{number}" for number in range(2000))))
    assert len(found) == MAX_PROBLEMS + 1
    assert found[-1].endswith(f"there is more from here on; only {MAX_PROBLEMS} are shown")


def test_error_carries_problems_as_values() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse("actions: alocate\ntiers: [plugins: [name: gang]]")
    (problem,) = pickle.loads(pickle.dumps(caught.value)).problems  # noqa: S301 - our own bytes
    assert (problem.source, problem.line) == ("scheduler.conf", 1)
    assert problem.sentence == "unknown action 'alocate'; did you mean 'allocate'?"


DIFFERENT_TIERS = one_plugin("- name: drf\n  enableHierarchy: true") + "\n- plugins:\n  - name: proportion"


@pytest.mark.parametrize("text", [DIFFERENT_TIERS, one_plugin("- name: drf\n- name: proportion")])
def test_drf_and_proportion_without_hierarchy_do_not_warn(text: str) -> None:
    assert parse(text).warnings == ()
