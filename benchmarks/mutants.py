"""Small mistakes that somebody might make in the mathematics: how many of them are there in each room?

    python benchmarks/mutants.py

A mutant is a changed operator, number or condition, an exchanged function (min, max), a dropped value of a return, or a
deleted statement. Messages, annotations, imports, decorators and `strict=` are left alone. Whether tests would notice
them, benchmarks/mutate.py finds out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
ROOMS = ("policies", "offpolicy", "signals", "trials", "curves")
OPERATORS: dict[type, list[type]] = {
    **{ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt]},
    **{ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.In: [ast.NotIn], ast.NotIn: [ast.In]},
    **{ast.Is: [ast.IsNot], ast.IsNot: [ast.Is], ast.And: [ast.Or], ast.Or: [ast.And]},
    **{ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Div], ast.Div: [ast.Mult], ast.Pow: [ast.Mult]},
    **{ast.FloorDiv: [ast.Mult], ast.Mod: [ast.Mult], ast.BitAnd: [ast.BitOr], ast.BitOr: [ast.BitAnd]},
}
FUNCTIONS = {"min": "max", "minimum": "maximum", "any": "all", "argmin": "argmax", "floor": "ceil", "ones": "zeros"}
FUNCTIONS |= {other: one for one, other in FUNCTIONS.items()}
DELETED = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Raise, ast.Continue, ast.Break, ast.Delete)
MESSAGES = ("raise ", "RotaError(", "unknown_name(", "warnings.warn(")


class Mutant(NamedTuple):
    file: str
    line: int
    change: str
    source: bytes
    function: tuple[int, int]  # its lines; 0 outside of all
    text: str  # of the line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"


def but(node: Any, **fields: Any) -> Any:
    return type(node)(**{**vars(node), **fields})


def changes(node: Any) -> Iterator[tuple[Any, Any]]:
    """What may be exchanged at a node, and for what."""
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            for other in OPERATORS[type(operator)]:
                yield node, but(node, ops=[*node.ops[:k], other(), *node.ops[k + 1 :]])
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        if not any(isinstance(getattr(side, "value", None), str) for side in ast.iter_child_nodes(node)):  # texts
            yield from ((node, but(node, op=other())) for other in OPERATORS.get(type(node.op), []))
    elif isinstance(node, ast.UnaryOp):
        yield node, node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield from ((node, ast.Constant(node.value + by)) for by in (1, -1))
    elif isinstance(node, ast.Call):
        *owner, name = ast.unparse(node.func).rsplit(".", 1)
        if name in FUNCTIONS:
            yield node.func, ast.Name(".".join([*owner, FUNCTIONS[name]]))
    for test in node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]:
        if test is not None and not isinstance(test, ast.UnaryOp | ast.Compare):  # their opposites come about above
            yield test, ast.UnaryOp(ast.Not(), test)
    if isinstance(node, ast.Return) and ast.unparse(node) not in ("return", "return None"):
        yield node, ast.Return()
    elif isinstance(node, DELETED) and getattr(node, "value", node) is not None:
        yield node, ast.Pass()


def walk(node: Any, function: tuple[int, int] = (0, 0)) -> Iterator[tuple[Any, Any, tuple[int, int]]]:
    """All changes at and below a node, and the lines of the function in which they are."""
    text = ast.unparse(node) if isinstance(node, ast.stmt | ast.Call) else ""
    documents = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and function == (0, 0)  # of a type
    if (
        documents
        or alias
        or text.startswith(("__all__", "def __repr__", "import ", "from "))
        or isinstance(node, ast.JoinedStr)
    ):
        return
    if isinstance(node, ast.FunctionDef) and function == (0, 0):
        function = min(one.lineno for one in (node, *node.decorator_list)), node.end_lineno or 0
    yield from ((old, new, function) for old, new in changes(node))
    if text.startswith(MESSAGES) or (isinstance(node, ast.keyword) and node.arg == "strict"):
        return
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child, function)


def mutants_of(room: str) -> Iterator[Mutant]:
    for path in sorted((ROOT / "src" / "rota" / room).glob("*.py")):
        source = path.read_bytes()
        lines = source.splitlines(keepends=True)
        for old, new, function in walk(ast.parse(source)):
            start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
            end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
            before, after = (" ".join(ast.unparse(one).split()) for one in (old, new))
            put = after if isinstance(old, ast.stmt) else f"({after})"
            whole, text = source[:start] + put.encode() + source[end:], lines[old.lineno - 1].decode().strip()
            yield Mutant(str(path.relative_to(ROOT)), old.lineno, f"{before} -> {after}", whole, function, text)


if __name__ == "__main__":
    for room in ROOMS:
        print(f"{room:10s} {len(list(mutants_of(room))):5d} mutants")
