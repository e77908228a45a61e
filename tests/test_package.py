"""The installed package: an sdist, a wheel of it, and a mining outside of the checkout."""

import configparser
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from miner.option_values import VERSION

ROOT = Path(__file__).parent.parent
SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Run a command outside of this checkout; return its output."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": ""} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def test_recipe_and_site_have_the_version_and_the_dependencies() -> None:
    recipe = (ROOT / ".ci/conda/recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{VERSION}"' in recipe
    assert f"bitext-miner {VERSION}," in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    needed = re.sub(r"\[.*?\]|;.*| ", "", config["options"]["install_requires"]).split()
    listed = recipe.partition("  run:\n    - python\n")[2].partition("\n\n")[0]
    own = {line.strip(" -").replace(" ", "") for line in listed.splitlines()}
    # wcwidth is what tabulate[widechars] adds; conda packages have no extras.
    assert own - {"wcwidth"} == set(needed)


@pytest.mark.slow
def test_the_package_mines_outside_the_repository(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77", reason="building needs setuptools 77 or later")
    source, installed, work = (tmp_path / name for name in ("source", "installed", "work"))
    work.mkdir()
    files = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_symlink() or not (ROOT / name).is_file():
            continue
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-c", SDIST, tmp_path, cwd=source)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "miner/demo/demo.gold", "train/loop.py"} <= names
    pip = sys.executable, "-m", "pip", "--disable-pip-version-check"
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", tmp_path, sdist, cwd=work)
    (wheel,) = tmp_path.glob("*.whl")
    run(*pip, "install", "-q", "--no-deps", "--no-index", "-t", installed, wheel, cwd=work)
    start = "import sys; from miner.cli import main; sys.exit(main())"
    demo = installed / "miner" / "demo"
    mine = ["mine", demo / "demo.de", demo / "demo.en", "-o", "pairs.tsv"]
    said = run(sys.executable, "-c", start, *mine, cwd=work, PYTHONPATH=str(installed))
    assert "estimated precision 0.95" in said
    assert len((work / "pairs.tsv").read_text(encoding="utf-8").splitlines()) > 350
    where = "import miner, miner_train.loop; print(miner.__file__)"
    assert str(installed) in run(sys.executable, "-c", where, cwd=work, PYTHONPATH=str(installed))
