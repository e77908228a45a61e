"""HTML pages from Jinja2 templates, one self-contained file each.

Charts are Bokeh's, with its JavaScript inlined. A slider moves a threshold through them and shows
how much it keeps.
"""

import re
from collections.abc import Mapping
from typing import Any

from miner.libraries import require
from miner.text.output import StrPath, open_output

# Names of the lines in charts that the slider moves.
MOVED = ("threshold0", "threshold1")
# Random names of Bokeh's documents and elements.
_RANDOM = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def moved(number: int, at: float) -> Any:
    """Return the line at a threshold in a chart, which the slider moves."""
    from bokeh.models import Span

    return Span(location=at, dimension="height", line_width=2, name=MOVED[number])


def check(path: StrPath) -> None:
    """Check that Bokeh is installed, and Jinja2 with it. Raises DependencyError otherwise."""
    require(["bokeh", "jinja2"], f"{path}: a report", "report")


def write(
    path: StrPath, template: str, title: str, charts: Mapping[str, Any], context: Mapping[str, Any]
) -> None:
    """Write the page of a ``template`` in ``miner/reports/templates``.

    ``charts`` are Bokeh's; the template gets the markup of each as ``charts``, by the same names.
    Without charts, Bokeh is not needed. ``context`` are the other variables, whose text is escaped.
    Characters that UTF-8 cannot encode (bytes of a file's name) become "?". Raises ResourceError if
    the page cannot be written.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("miner.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    code, script, divisions = "", "", {}
    if charts:
        import bokeh.embed
        import bokeh.resources

        code = bokeh.resources.Resources(mode="inline", components=["bokeh"]).render_js()
        script, divisions = bokeh.embed.components(dict(charts))
    # Deterministic ids, so that equal pages are equal files.
    names = {name: f"chart-{n}" for n, name in enumerate(dict.fromkeys(_RANDOM.findall(script)))}
    script, *marks = (
        _RANDOM.sub(lambda found: names.get(found[0], found[0]), text)
        for text in (script, *divisions.values())
    )
    page = environment.get_template(template).render(
        context,
        title=title,
        moved=MOVED,
        bokeh=Markup(code),
        script=Markup(script),
        charts={
            name: Markup('<div class="chart">{}</div>').format(Markup(division))
            for name, division in zip(divisions, marks, strict=True)
        },
    )
    with open_output(path) as file:
        file.write(page.encode("utf-8", "replace").decode("utf-8"))
