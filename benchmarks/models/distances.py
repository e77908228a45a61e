"""Write distances of languages to English, from URIEL (Littell et al. 2017).

    python -m benchmarks distances [--output distances.tsv]

Only this command needs the package ``lang2vec`` (1.1.2; CC BY-SA 4.0): pip install lang2vec. Its
arrays are read without pickle. Distances follow the definitions of URIEL. ``syntactic``,
``phonological``, ``inventory`` and ``genetic`` are cosine distances of feature vectors, from 0 to
1. Missing features of the first three are predicted from related languages; ``genetic`` has
language families. ``geographic`` is the great-circle distance, divided by that of antipodes. The
package has no coordinates, but the distances of each language to 299 points on the globe, which
determine its place.
"""

import argparse
import importlib.util
import math
import re
from pathlib import Path

import numpy as np

from miner.errors import DependencyError
from miner.text.output import open_output

TABLE = Path(__file__).parent / "distances.tsv"
TO = "eng"
# ISO 639-3 codes by the codes of training text. Nynorsk is left out: URIEL lacks its family.
LANGUAGES = dict(
    re.findall(
        r"(\w+)=(\w+)",
        """
        af=afr am=amh ar=ara az=aze be=bel bg=bul bn=ben br=bre bs=bos ca=cat cs=ces cy=cym
        da=dan de=deu dz=dzo el=ell eo=epo es=spa et=est eu=eus fa=fas fi=fin fr=fra fy=fry
        ga=gle gd=gla gl=glg gn=grn gu=guj he=heb hi=hin hr=hrv hu=hun hy=hye ia=ina id=ind
        is=isl it=ita ja=jpn ka=kat kab=kab kk=kaz km=khm kn=kan ko=kor lt=lit lv=lav mk=mkd
        ml=mal mn=mon mr=mar ms=msa my=mya nb=nor nl=nld oc=oci om=orm pa=pan pl=pol pt=por
        rm=roh ro=ron ru=rus sk=slk sl=slv sq=sqi sr=srp sv=swe sw=swa ta=tam te=tel tg=tgk
        th=tha tl=tgl tr=tur uk=ukr ur=urd vi=vie zh=zho zu=zul
        """,
    )
)
# Feature file and prefix of the feature names, by name of the distance.
COSINES = {
    "syntactic": ("feature_predictions", "S_"),
    "phonological": ("feature_predictions", "P_"),
    "inventory": ("feature_predictions", "INV_"),
    "genetic": ("family_features", "F_"),
}
POINTS = "geocoord_features"
NOTES = (
    "# Distances to English. Source: URIEL (Littell et al. 2017, EACL), of the package lang2vec",
    "# 1.1.2 by P. Littell, D. Mortensen and A. Anastasopoulos, licence CC BY-SA 4.0; this table",
    "# has the same licence. Written by: python -m benchmarks distances",
)


class Features:
    """Features of one file: ``of(language)`` is ``(f,) float64``, in the order of ``names``."""

    def __init__(self, data: Path, file: str):
        with np.load(data / f"{file}.npz", allow_pickle=False) as arrays:
            self._values = arrays["data"][:, :, 0].astype(np.float64)
            self._row = {str(name): row for row, name in enumerate(arrays["langs"])}
            self.names = [str(name) for name in arrays["feats"]]

    def of(self, language: str) -> np.ndarray:
        return np.asarray(self._values[self._row[language]])


def cosine_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return 1 - the cosine of two vectors ``(f,)``; 1 if either is 0, as for an isolate."""
    if not one.any() or not other.any():
        return 1.0
    return 1 - float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


def place(points: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the unit vector ``(3,)`` of the place with ``distances (n,)`` to ``points (n, 3)``.

    Distances are great-circle distances from 0 to 1, the distance of antipodes. Their cosines are
    dot products with the unit vector, which least squares finds.
    """
    found = np.linalg.lstsq(points, np.cos(np.pi * distances), rcond=None)[0]
    return np.asarray(found / np.linalg.norm(found))


def unit(latitude: float, longitude: float) -> np.ndarray:
    """Return the unit vector ``(3,)`` of a place in degrees."""
    north, east = math.radians(latitude), math.radians(longitude)
    level = math.cos(north)
    return np.array([level * math.cos(east), level * math.sin(east), math.sin(north)])


def great_circle(one: np.ndarray, other: np.ndarray) -> float:
    """Return the distance of two unit vectors ``(3,)``, from 0 to 1, the distance of antipodes."""
    return math.acos(max(-1.0, min(1.0, float(one @ other)))) / math.pi


def rows(data: Path) -> list[list[str]]:
    """Return the lines of the table as cells, the head first."""
    files = {file: Features(data, file) for file in (*dict(COSINES.values()), POINTS)}
    points = np.array([unit(*map(float, name.split("_")[1:])) for name in files[POINTS].names])
    found = [["language", *COSINES, "geographic"]]
    for short, language in LANGUAGES.items():
        cells = []
        for file, start in COSINES.values():
            wanted = [name.startswith(start) for name in files[file].names]
            pair = (files[file].of(code)[wanted] for code in (language, TO))
            cells.append(cosine_distance(*pair))
        places = (place(points, files[POINTS].of(code)) for code in (language, TO))
        found.append([short, *(f"{value:.4f}" for value in (*cells, great_circle(*places)))])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--output", type=Path, default=TABLE)
    arguments = parser.parse_args()
    package = importlib.util.find_spec("lang2vec")
    if package is None or package.origin is None:
        raise DependencyError("distances need the package lang2vec; run: pip install lang2vec")
    table = rows(Path(package.origin).parent / "data")
    with open_output(arguments.output) as file:
        file.writelines(f"{line}\n" for line in (*NOTES, *map("\t".join, table)))
