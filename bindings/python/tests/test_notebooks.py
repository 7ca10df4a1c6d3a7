"""The notebooks of the guide run, and are kept without their output."""

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

GUIDE = Path(os.environ["SPLITBAR_FIXTURES"]).parent / "docs" / "guide"


@pytest.mark.parametrize("file", sorted(GUIDE.glob("*.ipynb")), ids=lambda file: file.name)
def test_notebook(file):
    book = nbformat.read(file, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    resources = {"metadata": {"path": str(GUIDE)}}
    nbclient.NotebookClient(book, timeout=120, resources=resources).execute()
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", ())}
    assert {"text/html", "image/png"} <= kinds


def test_there_is_a_notebook():
    assert list(GUIDE.glob("*.ipynb"))
