"""What the HTML pages share: one file each, with nothing to load from anywhere.

Charts are Bokeh's, its JavaScript inlined. A slider moves a threshold through them and says what
it would keep.
"""

from __future__ import annotations

import html
import importlib.util
import json
from collections.abc import Iterable, Sequence
from typing import Any

from miner.errors import DependencyError
from miner.text.output import StrPath, open_output

# The lines of a chart that the slider moves.
MOVED = ("threshold0", "threshold1")


def check(path: StrPath) -> None:
    """Whether a page can be made; raises :class:`~miner.errors.DependencyError` if not."""
    if importlib.util.find_spec("bokeh") is None:
        raise DependencyError(
            f'{path}: a report needs bokeh; run: pip install "bitext-miner[report]"'
        )


def write(path: StrPath, title: str, body: str, script: str, style: str = "") -> None:
    """Write a page; ``body`` and ``script``, of `embedded`, are markup, ``title`` is text.

    What cannot be in UTF-8, such as bytes of a file's name, becomes "?". Raises
    :class:`~miner.errors.ResourceError` where it cannot be written.
    """
    import bokeh.resources

    page = _PAGE.format(
        title=html.escape(title),
        scripts=bokeh.resources.Resources(mode="inline", components=["bokeh"]).render_js(),
        style=style,
        body=body,
        script=script,
    )
    with open_output(path) as file:
        file.write(page.encode("utf-8", "replace").decode("utf-8"))


def embedded(charts: Sequence[Any]) -> tuple[list[str], str]:
    """The places of some charts, as markup for the body, and the script that draws them there."""
    if not charts:
        return [], ""
    import bokeh.embed

    script, divisions = bokeh.embed.components(list(charts))
    return [f'<div class="chart">{division}</div>' for division in divisions], script


def slider(at: Sequence[float], said: Sequence[str], start: int) -> str:
    """A slider of thresholds, the strictest first, as markup.

    ``at``: where on the axis the lines named in `MOVED` stand at each; ``said``: what is written
    then; ``start``: the place of the first one shown.
    """
    steps = json.dumps({"at": list(at), "said": list(said)}).replace("</", "<\\/")
    return (
        '<label for="slider">Move the threshold; from strict, on the left, to lax:</label>'
        f'<input type="range" id="slider" min="0" max="{max(len(at) - 1, 0)}" value="{start}">'
        f'<p id="state"></p><script id="steps" type="application/json">{steps}</script>'
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and what is to be said of each, both text."""
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows
    )
    return f'<table class="facts">{cells}</table>'


def samples(title: str, rows: Sequence[str]) -> str:
    """A table of samples that can be folded; ``title`` is text, ``rows`` are markup."""
    body = f'<table class="pairs">{"".join(rows)}</table>' if rows else "<p>none</p>"
    return f"<details open><summary>{html.escape(title)}</summary>{body}</details>"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 1000px; margin: 2em auto; padding: 0 1em;
  color: #222; }}
table {{ border-collapse: collapse; width: 100%; margin: .5em 0 1em; }}
th, td {{ text-align: left; vertical-align: top; padding: .25em .7em .25em 0;
  border-bottom: 1px solid #e4e4e4; }}
.facts th {{ width: 14em; font-weight: 600; }}
.pairs td {{ width: 46%; overflow-wrap: anywhere; }}
.pairs td:first-child {{ width: 5em; font-variant-numeric: tabular-nums; }}
.q {{ color: #777; font-size: 85%; }}
mark {{ background: #ffe0b3; }}
summary {{ cursor: pointer; font-weight: 600; margin: .8em 0 .2em; }}
#slider {{ width: 100%; }}
#state {{ font-size: 110%; font-variant-numeric: tabular-nums; white-space: pre-line; }}
{style}
</style>
{scripts}
</head>
<body>
{body}
{script}
<script>
(function () {{
  const slider = document.getElementById("slider");
  if (!slider) return;
  const steps = JSON.parse(document.getElementById("steps").textContent);
  const state = document.getElementById("state");
  function move() {{
    const i = Number(slider.value);
    if (!steps.at.length) return;
    state.textContent = steps.said[i];
    for (const shown of Bokeh.documents) for (const name of {moved}) {{
      const span = shown.get_model_by_name(name);
      if (span) span.location = steps.at[i];
    }}
  }}
  slider.addEventListener("input", move);
  window.addEventListener("load", move);
}})();
</script>
</body>
</html>
""".replace("{moved}", json.dumps(MOVED))
