"""The configuration inside a ConfigMap, as stored in a cluster: one key of its data holds the text.

Reading the manifest itself avoids extracting the text and its indentation by hand.
"""

from stromboli.core.config.configuration_errors import Findings
from stromboli.core.config.yaml_lines import YamlNode

PREFERRED_KEY = "volcano-scheduler.conf"
#: Options of a scheduler without a Deployment, as on its command line.
ARGUMENTS_KEY = "arguments"
_ENDING = ".conf"


def is_config_map(root: YamlNode) -> bool:
    kind = root.value.get("kind") if isinstance(root.value, dict) else None
    return kind is not None and kind.value == "ConfigMap"


def embedded_text(root: YamlNode, findings: Findings) -> tuple[str, str]:
    """Return the key that holds the configuration, and its text. Raises ConfigurationError if it is ambiguous or
    missing.
    """
    fields = root.value if isinstance(root.value, dict) else {}
    data = fields.get("data", YamlNode(root.line, None))
    entries = data.value if isinstance(data.value, dict) else {}
    keys = [key for key in entries if key.endswith(_ENDING)]
    if PREFERRED_KEY in keys:
        keys = [PREFERRED_KEY]
    if len(keys) != 1:
        found = f"there are {', '.join(keys)}" if keys else "there is none"
        findings.stop(
            data.line,
            f"one key of the ConfigMap's data must end in {_ENDING!r}, and {found}; name it {PREFERRED_KEY}",
        )
    text = entries[keys[0]]
    if not isinstance(text.value, str):
        findings.stop(text.line, f"{keys[0]} must be a text, not {text.described}; begin it with '|'")
    return keys[0], text.value
