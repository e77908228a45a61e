"""Catalogue of public data sets: addresses, sizes, checksums, licences.

A size or checksum stands here only where a source states it; None is unknown. The sources are the
records of TensorFlow Datasets (BUCC, MSRPC) and Hugging Face Datasets (SICK).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# Name of the only part of a set that is not split by language.
ALL = "all"


@dataclass(frozen=True)
class File:
    """File to download.

    address: http or https. size: bytes, or None. sha256: hexadecimal, or None. saved_as: its name
    under ``downloads``; by default the last part of the address.
    """

    address: str
    size: int | None = None
    sha256: str | None = None
    saved_as: str = ""

    @property
    def name(self) -> str:
        return self.saved_as or self.address.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Dataset:
    """Data set.

    parts: files by language pair or language (or `ALL`). licence: as stated by the source, or
    "unknown". large: parts are so large that the user must choose. note: a warning or explanation
    for the user.
    """

    name: str
    content: str
    home: str
    parts: Mapping[str, tuple[File, ...]]
    licence: str = "unknown"
    note: str = ""
    large: bool = False

    @property
    def whole(self) -> bool:
        """True if the set is not split by language."""
        return list(self.parts) == [ALL]

    @property
    def files(self) -> list[File]:
        return [file for files in self.parts.values() for file in files]


# Known sizes in bytes and SHA-256: files of BUCC by pair and split, others by name.
_KNOWN_TEXT = """
de-en.sample-gold 2529652 8e16ba8b02ef8d648b06adfbd6dfb188f43524e18f97b2b12a14a086caac62f3
de-en.training-gold 28189548 766e0fdebbd1438fb87c21254828eb13c8b997d8fbab002103dd060dcac50c5c
fr-en.sample-gold 1948831 df9eb3966954e163c9264076f7c9c1eb56d9d8a91855f9d3afbf2c0fdaef0a08
fr-en.training-gold 20757713 53c0d0e7dd97dc89593a2db25a26c5f0ccdc7113e8451263bb0c80e4c4c7dc30
ru-en.sample-gold 4269233 fce3cabc7ee50ddb4b18aa6fb090e2669c8383d2a29fc97eed6ae70fed9a23e5
ru-en.training-gold 37085079 1895df56e936ca3d4f5b12299ceffe0b7ff4806584c40bdaa3ae1d445f25afa5
zh-en.sample-gold 769869 a3425be5c0320ee131a0927b66c3e29befb3b481ebf1b87257e660e514bc16ac
zh-en.training-gold 6344925 3facb71798277c8f44dc78c1f8ae2110f254d0e14799f3508eedd54b4236877a
sick 217584 da272af924399fc2de4889ed55383e38822c10d16c4a949a89d597d09a0b7912
msrpc.train 1047044 60a9b09084528f0673eedee2b69cb941920f0b8cd0eeccefc464a98768457f89
msrpc.test 441275 a04e271090879aaba6423d65b94950c089298587d9c084bf9cd7439bd785f784
"""
KNOWN = {
    name: (int(size), sha256)
    for name, size, sha256 in map(str.split, _KNOWN_TEXT.strip().splitlines())
}
# Languages of LASER's Tatoeba sets: its code, and after a colon BCP-47's if it differs.
TATOEBA = """
afr:af amh:am ang ara:ar arq arz ast awa aze:az bel:be ben:bn ber bos:bs bre:br bul:bg cat:ca cbk
ceb ces:cs cha:ch cmn:zh cor:kw csb cym:cy dan:da deu:de dsb dtp ell:el epo:eo est:et eus:eu fao:fo
fin:fi fra:fr fry:fy gla:gd gle:ga glg:gl gsw heb:he hin:hi hrv:hr hsb hun:hu hye:hy ido:io ile:ie
ina:ia ind:id isl:is ita:it jav:jv jpn:ja kab kat:ka kaz:kk khm:km kor:ko kur:ku kzj lat:la lfn
lit:lt lvs:lv mal:ml mar:mr max mhr mkd:mk mon:mn nds nld:nl nno:nn nob:nb nov oci:oc orv pam pes:fa
pms pol:pl por:pt ron:ro rus:ru slk:sk slv:sl spa:es sqi:sq srp:sr swe:sv swg swh:sw tam:ta tat:tt
tel:te tgl:tl tha:th tuk:tk tur:tr tzl uig:ug ukr:uk urd:ur uzb:uz vie:vi war wuu xho:xh yid:yi yue
zsm:ms
"""
# Data sets of each year of STS, with the folder of its archive on the task's site.
STS_NAMES = {
    2012: ("MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"),
    2013: ("FNWN", "headlines", "OnWN"),
    2014: ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    2015: ("answers-forums", "answers-students", "belief", "headlines", "images"),
    2016: ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
STS_FOLDERS = {2012: "4/40", 2013: "2/2f", 2014: "8/8c", 2015: "d/da", 2016: "9/98"}
STS_TRACKS = (
    "track1.ar-ar",
    "track2.ar-en",
    "track3.es-es",
    "track4a.es-en",
    "track4b.es-en",
    "track5.en-en",
    "track6.tr-en",
)
SENTEVAL = "https://dl.fbaipublicfiles.com/senteval/senteval_data"
STS_WIKI = "http://ixa2.si.ehu.eus/stswiki"


def _whole(*files: File | str) -> dict[str, tuple[File, ...]]:
    """Return the parts of a set that is not split by language; a string is a file's address."""
    return {ALL: tuple(File(file) if isinstance(file, str) else file for file in files)}


def _bucc(pair: str) -> tuple[File, ...]:
    return tuple(
        File(
            f"https://comparable.limsi.fr/bucc2018/bucc2018-{pair}.{split}.tar.bz2",
            *KNOWN.get(f"{pair}.{split}", (None, None)),
        )
        for split in ("sample-gold", "training-gold", "test")
    )


def _tatoeba() -> dict[str, tuple[File, ...]]:
    where = "https://raw.githubusercontent.com/facebookresearch/LASER/main/data/tatoeba/v1"
    parts = {}
    for entry in TATOEBA.split():
        code, _, short = entry.partition(":")
        files = tuple(File(f"{where}/tatoeba.{code}-eng.{side}") for side in (code, "eng"))
        parts[f"{short or code}-en"] = files
    return dict(sorted(parts.items()))


def _sts(year: int) -> Dataset:
    return Dataset(
        name=f"sts{year}",
        content=f"similarity, {len(STS_NAMES[year])} English sets",
        home=f"{STS_WIKI}/index.php/Main_Page",
        parts=_whole(f"{STS_WIKI}/images/{STS_FOLDERS[year]}/STS{year}-en-test.zip"),
        note="pairs without a gold score are left out" if year > 2014 else "",
    )


def _senteval(name: str, content: str, *files: File | str) -> Dataset:
    """Return a set of SentEval that is only available there; addresses as in its download
    script.
    """
    home = "https://github.com/facebookresearch/SentEval"
    note = "for 'miner evaluate senteval'"
    return Dataset(name, content, home, _whole(*files), note=note)


def _treebank() -> Iterator[File]:
    sentiment = "https://raw.githubusercontent.com"
    binary = f"{sentiment}/PrincetonML/SIF/master/data/sentiment-"
    fine = f"{sentiment}/AcademiaSinicaNLPLab/sentiment_dataset/master/data/stsa.fine."
    for labels, where in ((2, binary), (5, fine)):
        for part in ("train", "dev", "test"):
            yield File(f"{where}{part}", saved_as=f"sst.{labels}.{part}")


_EVERY = (
    Dataset(
        name="bucc2018",
        content="mining bitext, with gold",
        home="https://comparable.limsi.fr/bucc2018/bucc2018-task.html",
        parts={pair: _bucc(pair) for pair in ("de-en", "fr-en", "ru-en", "zh-en")},
        note="no gold of test is known to be published",
    ),
    Dataset(
        name="tatoeba",
        content="retrieval, up to 1,000 pairs each",
        home="https://github.com/facebookresearch/LASER/tree/main/data/tatoeba/v1",
        licence="CC BY 2.0 FR (Tatoeba)",
        parts=_tatoeba(),
        note="cmn is called zh here, pes fa, lvs lv, swh sw, zsm ms",
    ),
    *(_sts(year) for year in STS_NAMES),
    Dataset(
        name="sts2017",
        content="similarity, 7 tracks, ar en es tr",
        home="https://alt.qcri.org/semeval2017/task1/",
        parts=_whole(
            "http://alt.qcri.org/semeval2017/task1/data/uploads/sts2017.eval.v1.1.zip",
            "http://alt.qcri.org/semeval2017/task1/data/uploads/sts2017.gs.zip",
        ),
        note="this host is not always there",
    ),
    Dataset(
        name="stsb",
        content="similarity, STS Benchmark, English",
        home=f"{STS_WIKI}/index.php/STSbenchmark",
        licence="by source text; in the archive",
        parts=_whole(f"{STS_WIKI}/images/4/48/Stsbenchmark.tar.gz"),
        note="made of pairs of STS 2012-2017, all of track 5 among them",
    ),
    Dataset(
        name="sick-r",
        content="relatedness, English captions",
        home="https://zenodo.org/record/2787612",
        licence="CC BY-NC-SA 3.0",
        parts=_whole(
            File("https://zenodo.org/record/2787612/files/SICK.zip", *KNOWN["sick"]),
        ),
    ),
    Dataset(
        name="msrpc",
        content="paraphrase or not, English news",
        home="https://www.microsoft.com/en-us/download/details.aspx?id=52398",
        licence="MSR-SSLA (Microsoft)",
        parts=_whole(
            File(f"{SENTEVAL}/msr_paraphrase_train.txt", *KNOWN["msrpc.train"]),
            File(f"{SENTEVAL}/msr_paraphrase_test.txt", *KNOWN["msrpc.test"]),
        ),
        note="Microsoft gives an installer for Windows only; these are SentEval's copies",
    ),
    Dataset(
        name="pit-2015",
        content="paraphrase or not, and similarity, tweets",
        home="https://github.com/cocoxu/SemEval-PIT2015",
        parts=_whole(
            "https://github.com/cocoxu/SemEval-PIT2015/raw/master/data/SemEval-PIT2015-github.zip"
        ),
        note="this address was not seen; its page says where the archive is",
    ),
    _senteval(
        "senteval-small",
        "classification: MR, CR, SUBJ, MPQA",
        f"{SENTEVAL}/datasmall_NB_ACL12.zip",
    ),
    _senteval("sst", "classification: Stanford Sentiment Treebank, 2 and 5 labels", *_treebank()),
    _senteval(
        "trec",
        "classification: kinds of questions",
        "http://cogcomp.cs.illinois.edu/Data/QA/QC/train_5500.label",
        "http://cogcomp.cs.illinois.edu/Data/QA/QC/TREC_10.label",
    ),
    _senteval(
        "sick-e",
        "entailment and relatedness, English captions, SemEval 2014 split",
        *(
            f"http://alt.qcri.org/semeval2014/task1/data/uploads/{name}.zip"
            for name in ("sick_train", "sick_trial", "sick_test_annotated")
        ),
    ),
    Dataset(
        name="opusparcus",
        content="paraphrases of subtitles, graded",
        home="http://urn.fi/urn:nbn:fi:lb-2018021221",
        licence="CC BY-NC",
        parts={
            code: (File(f"https://korp.csc.fi/download/opusparcus/opusparcus_{code}.zip"),)
            for code in ("de", "en", "fi", "fr", "ru", "sv")
        },
        note="addresses seen for en and fi only, the others are by analogy; the ranked training "
        "pairs come too (train/paraphrases)",
        large=True,
    ),
    Dataset(
        name="ppdb",
        content="paraphrases of phrases, English",
        home="http://paraphrase.org",
        parts=_whole("http://nlpgrid.seas.upenn.edu/PPDB/eng/ppdb-2.0-l-phrasal.gz"),
        note="this address was not seen; its page has the other sizes",
    ),
    Dataset(
        name="simpwiki",
        content="sentences of Wikipedia and simple ones",
        home="https://cs.pomona.edu/~dkauchak/simplification",
        parts=_whole(
            "https://cs.pomona.edu/~dkauchak/simplification/data.v2/sentence-aligned.v2.tar.gz"
        ),
        note="this address was not seen; its page says where the archive is",
    ),
)
CATALOG: dict[str, Dataset] = {dataset.name: dataset for dataset in _EVERY}
