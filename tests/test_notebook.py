"""The documentation's notebook: its cells print the output shown.

``MINER_DOCS=write pytest tests/test_notebook.py`` writes the current output into it.
"""

import ast
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.examples import difference

NOTEBOOK = Path(__file__).parent.parent / "docs/first-steps.ipynb"


def outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell; return its output and the value of its last expression, as a notebook does."""
    tree, value = ast.parse(source), None
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": [repr(value)]}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = [value._repr_html_()]
        shown = {"execution_count": None, "metadata": {}, "output_type": "execute_result"}
        found.append({"data": data, **shown})
    return found


@pytest.mark.slow
def test_cells_show_what_they_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook, names = json.loads(NOTEBOOK.read_text("utf-8")), dict[str, Any]()
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    for cell in cells:
        shown, cell["outputs"] = cell["outputs"], outputs("".join(cell["source"]), names)
        if not os.environ.get("MINER_DOCS"):
            then, now = (json.dumps(one, indent=1) for one in (shown, cell["outputs"]))
            assert not difference(then, now)
    if os.environ.get("MINER_DOCS") == "write":
        text = json.dumps(notebook, ensure_ascii=False, indent=1)
        NOTEBOOK.write_text(text + "\n", encoding="utf-8")
