"""Every link of the report leads somewhere, its tables are tables, and the HTML page loads nothing."""

from __future__ import annotations

import html
import html.parser
import inspect
import json
import pathlib
import re
import xml.etree.ElementTree as ET

import pytest
import report_example as example
from markdown_it import MarkdownIt

import dpcheck
from dpcheck import report
from dpcheck.report import html as page_of_one_file
from dpcheck.report.checked import SourceLink
from dpcheck.verdicts import Witness

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("root")
    report.write(example.lay_out(root), example.RECORDS, root / "reports")
    return root / "reports"


def anchors(page: pathlib.Path) -> set[str]:
    """Explicit ones, and those that code hosts make of headings."""
    text = page.read_text()
    titles = [
        re.sub(r"[^\w\- ]", "", t.strip().lower()).replace(" ", "-") for t in re.findall(r"^#+ (.*)$", text, re.M)
    ]
    return {*re.findall(r'<a id="([^"]+)">', text), *titles}


def targets(tokens) -> list[str]:
    found = []
    for token in tokens:
        found += [str(token.attrs[name]) for name in ("href", "src") if name in token.attrs]
        found += targets(token.children or [])
    return found


def test_markdown_links_resolve(out):
    count = 0
    for page in out.glob("*.md"):
        for target in targets(PARSER.parse(page.read_text())):
            path, _, fragment = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.is_file(), f"{page.name}: {target}"
            if file.suffix == ".md" and fragment:
                assert fragment in anchors(file), f"{page.name}: {target}"
            elif fragment:
                assert re.fullmatch(r"L\d+", fragment), target
                assert int(fragment[1:]) <= len(file.read_text().splitlines())
            count += 1
    assert count > 30


def test_markdown_tables_and_text_survive_the_parser(out):
    for page in out.glob("*.md"):
        text = PARSER.render(page.read_text())
        rows = len(re.findall(r"^\|", page.read_text(), re.M)) - len(re.findall(r"^\| :?-", page.read_text(), re.M))
        assert text.count("<tr>") == rows, f"{page.name}: a line that starts with a bar is no row of a table"
    rendered = PARSER.render((out / "example.md").read_text())
    assert "The *excess risk* of <code>alg-1</code> is small_enough &lt;always&gt;; costs $1 | $2." in rendered
    assert ">law | name</td>" in rendered
    assert "<code>pipes | in</code>" in rendered or "<code>pipes \\| in</code>" in rendered


def test_formulas_survive_the_parser(out):
    """Hosts that know mathematics read it from the text that is left after Markdown's escapes."""
    page = (out / "example.md").read_text()
    for formula in re.findall(r"\$\$\n(.*)\n\$\$", page):
        inline = PARSER.parseInline(formula)[0].children
        assert "".join(token.content for token in inline) == formula, formula


class Page(html.parser.HTMLParser):
    """Ids, links and whatever a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        for name in ("src", "srcset", "data", "poster", "action", "background"):
            if name in values:
                self.loads.append(values[name])
        if tag in ("link", "image", "use", "script", "iframe", "object", "embed", "base"):
            self.loads += [v for k, v in values.items() if k in ("href", "xlink:href", "src")]
        if tag not in ("meta", "link", "input", "br", "img", "path", "use"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("path", "use"):
            return
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_html_is_whole_and_loads_nothing(out):
    text = (out / "dpcheck.html").read_text()
    page = Page(text)
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert all(load.startswith(("#", "data:,")) for load in page.loads), page.loads
    assert not re.search(r"url\((?!#)|@import|fetch\(|XMLHttpRequest", text)
    for link in page.links:
        assert link.startswith("#"), f"{link} is dead where the page is sent alone"
        assert link[1:] in page.ids, link
    assert not re.search(r"""(?:href|src)=["']?(?!["']?(?:#|data:,))""", text)


def test_the_one_file_says_where_its_sources_are_and_holds_its_witnesses(out):
    """Both were links to files beside it."""
    text = (out / "dpcheck.html").read_text()
    assert f"those of the tree of dpcheck {dpcheck.__version__}" in text
    assert "<span>audit <code>audits/example.py:2</code></span>" in text
    (quoted,) = re.findall(r'<details class="plain" id="witness-[^"]+">.*?<pre>(.*?)</pre>', text, re.S)
    assert Witness.from_dict(json.loads(html.unescape(quoted))) == example.WITNESS
    assert "<code>dpcheck verify thm-10-worst_pair.json</code>" in text


def test_the_one_file_quotes_every_check(out):
    """It named a file that the reader of one page does not have."""
    text = (out / "dpcheck.html").read_text()
    quoted = re.findall(r'<details class="plain source">.*?<pre>(.*?)</pre>', text, re.S)
    assert len(quoted) == len(re.findall(r'<p class="outcome">', text))
    written = inspect.getsource(inspect.unwrap(example.risk_grows.function))
    whole = "\n".join(line for line in written.splitlines() if line.strip())
    assert whole in [html.unescape(each).strip() for each in quoted]


def test_a_certificate_is_named_with_the_command_that_verifies_it():
    link = SourceLink("certificate", "reports/certificates/example/a b.json:1", "certificates/example/a b.json#L1")
    said = page_of_one_file._file_link(link)
    assert (
        said == "<span>certificate <code>dpcheck verify &#39;reports/certificates/example/a b.json&#39;</code></span>"
    )


def test_html_reads_without_scripts(out):
    text = re.sub(r"<script>.*?</script>", "", (out / "dpcheck.html").read_text(), flags=re.S)
    assert re.search(r'<form id="filter"[^>]* hidden>', text)
    for label in ("example/thm-2", "example/thm-10", "example/lem-5"):
        assert f'<details class="statement" id="{label}"' in text
    for root in re.findall(r"<math.*?</math>", text):
        ET.fromstring(root)
    assert text.count("<svg") == 4
