"""The native part: strings and bytes in, bytes and JSON out."""

__version__: str

class Refused(Exception): ...

def compile(
    module: bytes,
    target: str,
    products: list[str],
    settings: list[tuple[str, str]],
    spec: list[str],
    program: str,
    time: float | None,
    memory: int | None,
) -> tuple[list[bytes], str]: ...
def check(
    module: bytes, target: str | None, settings: list[tuple[str, str]], spec: list[str]
) -> str: ...
def pairs(
    module: bytes, spec: list[str]
) -> list[tuple[str, int, str, list[int], list[int], int]]: ...
def run_passes(module: bytes, passes: list[str]) -> tuple[bytes, str]: ...
def list_passes() -> list[tuple[str, str, str | None]]: ...
def targets() -> str: ...
