"""`DocumentFormat`: columns and format of files of documents."""

from dataclasses import dataclass

from miner.config_fields import option
from miner.option_values import ON_ERROR
from miner.text.text_format import Column

# Formats with a document a row, and HPLT's key of the URL.
WITH_DOCUMENTS, SHORT_URL = ("jsonl", "parquet"), "u"


@dataclass(frozen=True)
class DocumentFormat:
    """Format of files of documents.

    ``text``, ``id``, ``url`` and ``domain`` name columns of JSONL and Parquet; only the text is
    required. Lines of the text are sentences. A document without id is named by its file and line.
    Documents are paired within a domain: the text of its column or, with ``by_host``, the host of
    the URL. ``format`` and ``on_error`` as in :class:`miner.text.formats.BitextFormat`; "skip" also
    skips rows without the text.
    """

    text: str = option("text", "Key of the text, whose lines are sentences.", option="--column")
    id: str = option("id", "Key of the id.", option="--id-column")
    url: str = option("url", "Key of the URL [url, or u].", option="--url-column", quiet=True)
    domain: str = option(
        "domain", "Key of the domain: documents are paired within it.", option="--domain-column"
    )
    by_host: bool = option(False, "Pair documents within the host of their URL.")
    format: str | None = option(None, "Format of files; default by suffix.", choices=WITH_DOCUMENTS)
    on_error: str = option(
        "fail",
        "Action on documents that are not UTF-8 or lack the text: stop, put U+FFFD, or skip "
        "(and count).",
        choices=ON_ERROR,
    )

    @property
    def columns(self) -> list[Column]:
        others = (self.url, SHORT_URL, self.domain)
        return [
            Column(self.text),
            Column(self.id, required=False, is_id=True),
            *(Column(name, required=False) for name in others),
        ]
