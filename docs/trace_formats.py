"""The table of formats in the page traces.md, made from what the readers say of themselves."""

from pathlib import Path
from typing import Final

from openpts_traces import treatment

PAGE: Final = Path(__file__).parents[1] / "packages/openpts_traces/docs/traces.md"
_BEGIN, _END = "<!-- formats -->\n", "<!-- /formats -->"


def page() -> str:
    """The page with the table as it must be."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    rows = "".join(f"| `{name}` | {label} |\n" for name, label in treatment.formats().items())
    return f"{before}{_BEGIN}| `--format` | What it is |\n|---|---|\n{rows}{_END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
