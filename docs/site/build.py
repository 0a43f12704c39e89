"""Build the documentation site: lay out its pages, then run Zensical strictly.

    python docs/site/build.py            # writes build/site
    python docs/site/build.py --stage    # only lays out build/site-pages

Pages are the Markdown files of ``docs/`` and the root, one page per paper and per file of
``docs/results``, and one per package of the API. Every page in ``docs/`` is taken in: those that
`NAV` does not place are "How to" pages, so a new page needs no entry here, and a page that is not
there is left out. Links are rewritten to where pages stand in the site; a link to a file that is
not in the site becomes its name, and a picture leads to itself in full. The site needs no network.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from results import page_of

import papers

ROOT = Path(__file__).resolve().parents[2]
STAGE, SITE = ROOT / "build" / "site-pages", ROOT / "build" / "site"
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
REST = "*"
"""Stands for the pages of ``docs/`` that have no place of their own."""
NAV: list[tuple[str, Any]] = [
    ("Start", "README.md"),
    ("Getting started", "docs/start.md"),
    ("Concepts", ["docs/concepts.md", "docs/techniques.md", "docs/glossary.md"]),
    ("Tutorials", "docs/tutorials"),
    ("How to", REST),
    ("Gallery", "docs/gallery.md"),
    ("Results", "docs/results"),
    ("Result files", "docs/results/*.json"),
    ("Papers and code", "docs/papers.md"),
    ("API", "src/subgame"),
    ("Other solvers", "docs/comparison.md"),
    ("Status", "docs/status.md"),
    ("Project", ["docs/design.md", "CONTRIBUTING.md", "CHANGELOG.md"]),
]
FRONT = """# API

A game is compiled to a tree, a tree is solved, and what was solved is refined:

```python
import subgame as sg

tree = sg.compile(sg.games.load("leduc"))
result = sg.solve(tree, "cfr+", iterations=30)
better = sg.refine(tree, result.strategy, at="after round 1", technique=sg.Maxmargin())
print(result.exploitability.mean, better.after.mean)
```

`import subgame as sg` gives the names below. A name leads to its signature and its examples. All
other public modules are on the pages of their layers, from games to papers.
"""
"""What the first page of the API says."""
HIDDEN = re.compile(
    r"(^|\.)_|\.(cli|bench)(\.|$)|kernels|triton|codegen|range_(rows|terminals|tiles)"
)
"""Modules that are not in the API: private ones, commands, benchmarks and kernels."""
LAYERS = "games tree engines solve abstraction interop refine play papers"
"""Packages in the order of the layers; others follow."""


# Pages ---------------------------------------------------------------------------------------
def places() -> dict[str, str]:
    """Path in the repository -> path in the site, for every page and picture."""
    site_paths = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
    site_paths |= {"README.md": "index.md", "docs/results": "results/index.md"}
    for path in sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.png")]):
        name = path.relative_to(ROOT).as_posix()
        site_paths[name] = name.removeprefix("docs/").replace("README.md", "index.md")
    for path in sorted(ROOT.glob("docs/**/*.svg")):
        site_paths[path.relative_to(ROOT).as_posix()] = path.relative_to(ROOT / "docs").as_posix()
    for path in sorted(ROOT.glob("docs/results/*.json")):  # a link to a file leads to its page
        site_paths[path.relative_to(ROOT).as_posix()] = f"results/{path.stem}.md"
    return site_paths


def relinked(text: str, source: str, where: dict[str, str]) -> str:
    """The text of a page with its links as they must be in the site."""

    def link(match: re.Match[str]) -> str:
        label, target = match[1], match[2]
        if target.startswith(("#", "http", "mailto:")):
            return match[0]
        path, hash_, anchor = target.partition("#")
        file = os.path.normpath(PurePosixPath(source).parent / path)
        if file not in where:
            if not (ROOT / file).exists():
                sys.exit(f"{source} has a link to {target}, but there is no {file}.")
            return label.lstrip("!")[1:-1]
        start = PurePosixPath(where.get(source, source)).parent
        there = os.path.relpath(where[file], start)
        linked = f"{label}({there}{hash_}{anchor})"
        return f"[{linked}]({there})" if label.startswith("!") else linked  # opens it in full

    parts = FENCE.split(text)  # every second part is a block of code
    parts[::2] = [LINK.sub(link, part) for part in parts[::2]]
    return "".join(parts)


def completed(text: str, source: str) -> str:
    """The text of a page with what the site adds to it: links to the API and to results."""
    if source == "docs/papers.md":
        text = re.sub(
            r"`(subgame[\w.]*?\.((?:[A-Z]\w*\.|\w+\.(?=run`))?\w+))`", r"[`\2`][\1]", text
        )
        return re.sub(r"`([a-z]+(?:\d|-)[\w-]+)`", r"[`\1`](results/\1.md)", text)
    return text


def write(name: str, text: str) -> None:
    path = STAGE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def title(name: str) -> str:
    """The first heading of a page in the site."""
    text = (STAGE / name).read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    if heading is None:
        sys.exit(f"The page {name} has no heading.")
    return heading[1].replace("`", "")


def result_pages(where: dict[str, str]) -> tuple[list[str], list[str]]:
    """The index, a page for each paper and the notes; and a page for each file."""
    for paper in papers.papers():
        name = f"docs/results/{paper['page']}.md"
        write(where[name], relinked(papers.page(paper), name, where))
    front = ["index", *(paper["page"] for paper in papers.papers()), "notes"]
    pages = []
    for path in sorted((ROOT / "docs" / "results").glob("*.json")):
        pages.append(f"results/{path.stem}.md")
        write(pages[-1], page_of(path))
        shutil.copy(path, STAGE / "results" / path.name)
    return [f"results/{name}.md" for name in front], pages


# API -----------------------------------------------------------------------------------------
def modules() -> Iterator[str]:
    """The public modules of the package that have a docstring."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        name = name.removesuffix(".__init__")
        if not HIDDEN.search(name) and ast.get_docstring(ast.parse(path.read_text("utf-8"))):
            yield name


def api_pages() -> list[str]:
    """One page per layer, with the docstrings of its modules; the first page has the nouns."""
    names, pages = list(modules()), ["api/index.md"]
    write("api/index.md", _front(names))
    packages = {path.parent.name for path in (ROOT / "src/subgame").glob("*/__init__.py")}
    known = [name for name in LAYERS.split() if name in packages]
    layers = [*known, *sorted(p for p in packages - {*known} if f"subgame.{p}" in names)]
    top = [m for m in names if m.count(".") == 1 and m.split(".")[1] not in packages]
    write("api/subgame.md", "# subgame\n\n" + "\n".join(f"::: {m}\n" for m in top))
    pages.append("api/subgame.md")
    for layer in layers:
        inside = [m for m in names if f"{m}.".startswith(f"subgame.{layer}.")]
        pages.append(f"api/{layer}.md")
        write(pages[-1], f"# subgame.{layer}\n\n" + "\n".join(f"::: {m}\n" for m in inside))
    return pages


def _front(known_modules: list[str]) -> str:
    """What ``subgame`` exports, each with a link to its docstring."""
    tree = ast.parse((ROOT / "src/subgame/__init__.py").read_text(encoding="utf-8"))
    values: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("_NAMES", "__all__"):
                values[name] = ast.literal_eval(node.value)
    home = {word: m for m, names in values["_NAMES"].items() for word in names.split()}
    groups: dict[str, list[str]] = {
        "Verbs and modules": [],
        "Techniques": [],
        "Schedules": [],
        "Nouns": [],
    }
    kinds = {"refine.gadgets": "Techniques", "solve.schedule": "Schedules"}
    for name in values["__all__"]:
        at = f"subgame.{home[name]}.{name}" if name in home else f"subgame.{name}"
        if name in ("solve", "refine"):  # packages that can be called
            at = f"subgame.{'solve.solver' if name == 'solve' else 'refine.verbs.refine'}.{name}"
        known = at in known_modules or at.rpartition(".")[0] in known_modules
        shown = f"[`sg.{name}`][{at}]" if known else f"`sg.{name}`"
        kind = kinds.get(home.get(name, ""), "Verbs and modules" if name.islower() else "Nouns")
        groups[kind].append(f"| {shown} | {summary(at)} |")
    tables = [
        "\n".join([f"## {kind}\n\n| name | what it is |\n| --- | --- |", *lines])
        for kind, lines in groups.items()
    ]
    return "\n\n".join([FRONT.strip(), *tables]) + "\n"


def summary(at: str) -> str:
    """The first paragraph of the docstring of a module, or of a class or function in one."""
    path = ROOT / "src" / Path(*at.split("."))
    inside = "" if path.is_dir() or path.with_suffix(".py").exists() else path.name
    path = path.parent if inside else path
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes: list[Any] = [ast.parse(file.read_text(encoding="utf-8"))]
    if inside:
        nodes = [node for node in nodes[0].body if getattr(node, "name", None) == inside]
    text = next((ast.get_docstring(node) or "" for node in nodes), "")
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


# The site ------------------------------------------------------------------------------------
def stage() -> None:
    """Lay out the pages and the configuration in `STAGE`."""
    shutil.rmtree(STAGE, ignore_errors=True)
    where = places()
    for source, name in where.items():
        path = ROOT / source
        if source.endswith(".md"):
            text = path.read_text(encoding="utf-8")
            write(name, completed(relinked(text, source, where), source))
        elif path.is_file() and path.suffix != ".json":
            (STAGE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, STAGE / name)
    shutil.copy(Path(__file__).parent / "style.css", STAGE / "style.css")
    shutil.copy(ROOT / "docs" / "llms.txt", STAGE / "llms.txt")
    config = (Path(__file__).parent / "zensical.toml").read_text(encoding="utf-8")
    nav = ",\n".join(f"  {entry}" for entry in _nav(where))
    (STAGE.parent / "zensical.toml").write_text(config.replace("NAV", f"[\n{nav}\n]"), "utf-8")


def _nav(where: dict[str, str]) -> Iterator[str]:
    """The lines of the navigation, in TOML."""
    (results, files), api = result_pages(where), api_pages()
    tutorials = sorted(
        name for source, name in where.items() if source.startswith("docs/tutorials/")
    )
    pages = [name for source, name in where.items() if re.fullmatch(r"docs/[\w-]+\.md", source)]
    placed = {
        where.get(p, p) for _, entry in NAV for p in ([entry] if isinstance(entry, str) else entry)
    }
    many = {
        "docs/results": results,
        "docs/results/*.json": files,
        "src/subgame": api,
        "docs/tutorials": tutorials,
    }
    many[REST] = [name for name in pages if name not in placed]
    for label, entry in NAV:
        if isinstance(entry, list):
            inside = [where[p] for p in entry]
        elif entry in many:
            inside = many[entry]
        else:
            if entry in where:
                yield f"{{ {json.dumps(label)} = {json.dumps(where[entry])} }}"
            continue
        lines = [f"{{ {json.dumps(title(name))} = {json.dumps(name)} }}" for name in inside]
        yield f"{{ {json.dumps(label)} = [{', '.join(lines)}] }}"


def build() -> int:
    """Run Zensical; warnings are errors."""
    words = ["-m", "zensical", "build", "--clean", "--strict", "-f", "zensical.toml"]
    done = subprocess.run(
        [sys.executable, *words], cwd=STAGE.parent, capture_output=True, text=True, check=False
    )
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr.partition("Traceback")[0])
    print(said.strip())
    if elsewhere := {address for page in SITE.rglob("*.html") for address in fetched(page)}:
        print(
            f"The site would fetch {', '.join(sorted(elsewhere))}; it must work without a network."
        )
        return 1
    return done.returncode


def fetched(page: Path) -> list[str]:
    """What a page loads from elsewhere: scripts, styles, fonts and pictures, but not its links."""
    pattern = r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)"
    return re.findall(pattern, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    stage()
    sys.exit(0 if "--stage" in sys.argv else build())
