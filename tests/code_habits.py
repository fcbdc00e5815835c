"""How much code there is and how it is written: counts over the files of a package.

    python tests/code_habits.py

prints them for harmonium beside two packages of its kind. The counts are a report; what must not
come back is held by tests/test_code_habits.py.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

PEERS = ("optax", "equinox")
FOR_TOOLS = ("# noqa", "# pyright", "# type:", "# pylint", "# pytype")

# Names that say nothing of what they hold. The field has a noun for each.
VAGUE_NAMES = {
    "anew",
    "begun",
    "each",
    "found",
    "kept",
    "made",
    "one",
    "reach",
    "share",
    "side",
    "some",
    "told",
    "way",
    "worth",
}


def docstring_lines(tree: ast.AST) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    numbers = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            statement = node.body[0]
            assert statement.end_lineno is not None
            numbers.update(range(statement.lineno, statement.end_lineno + 1))
    return numbers


def packed_assignments(tree: ast.AST) -> Iterator[ast.Assign]:
    """Yield the assignments of several values to as many names: `a, b = f(x), g(y)`.

    An exchange, `a, b = b, a`, is none: it has to be one statement.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Tuple):
            continue
        targets = [ast.unparse(element) for element in target.elts]
        values = [ast.unparse(element) for element in node.value.elts]
        if len(targets) == len(values) and not set(targets) & set(values):
            yield node


def vague_names(tree: ast.AST) -> Iterator[ast.Name | ast.arg]:
    """Yield the names on the list `VAGUE_NAMES` that are assigned or are parameters."""
    for node in ast.walk(tree):
        is_assigned = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        if is_assigned and node.id in VAGUE_NAMES:
            yield node
        if isinstance(node, ast.arg) and node.arg in VAGUE_NAMES:
            yield node


def comments_beside_code(text: str) -> int:
    """Return the number of comments after code on the same line, those for tools excluded."""
    readline = io.StringIO(text).readline
    return sum(
        token.type == tokenize.COMMENT
        and token.line[: token.start[1]].strip() != ""
        and not token.string.lower().startswith(FOR_TOOLS)
        for token in tokenize.generate_tokens(readline)
    )


def counts_of(folder: Path) -> dict[str, float]:
    """Return the counts of the Python files below a folder, tests excluded."""
    totals: Counter[str] = Counter()
    for file in folder.rglob("*.py"):
        place = file.relative_to(folder)
        if any(part.startswith(("test", "_test")) for part in place.parts):
            continue
        text = file.read_text("utf-8", errors="replace")
        tree = ast.parse(text)
        documented = docstring_lines(tree)
        for number, line in enumerate(text.splitlines(), 1):
            if number in documented or not line.strip():
                continue
            if line.lstrip().startswith("#"):
                totals["comments"] += 1
            else:
                totals["code"] += 1
        totals["files"] += 1
        totals["beside"] += comments_beside_code(text)
        totals["functions"] += sum(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))
        totals["conditional"] += sum(isinstance(node, ast.IfExp) for node in ast.walk(tree))
        totals["packed"] += len(list(packed_assignments(tree)))
        totals["vague"] += len(list(vague_names(tree)))
    thousands = totals["code"] / 1000
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return {
        "files": totals["files"],
        "lines of code": totals["code"],
        "functions": totals["functions"],
        "modules outside packages": len(modules),
        "comments, % of code": 100 * totals["comments"] / totals["code"],
        "comments beside code, %": 100 * totals["beside"] / totals["code"],
        "packed assignments / 1,000": totals["packed"] / thousands,
        "conditional expressions / 1,000": totals["conditional"] / thousands,
        "vague names / 1,000": totals["vague"] / thousands,
    }


def table(folders: dict[str, Path]) -> str:
    """Return the counts of packages side by side."""
    counts = {name: counts_of(folder) for name, folder in folders.items()}
    lines = [f"{'':34}" + "".join(f"{name:>12}" for name in counts)]
    for title in next(iter(counts.values())):
        values = "".join(f"{count[title]:12,.4g}" for count in counts.values())
        lines.append(f"{title:34}{values}")
    return "\n".join(lines)


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, None where it is not installed."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


if __name__ == "__main__":
    installed = {name: folder_of(name) for name in ("harmonium", *PEERS)}
    print(table({name: folder for name, folder in installed.items() if folder is not None}))
