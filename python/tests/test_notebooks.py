"""The notebooks run, and show what they should.

They are kept without outputs: those would change with every version and machine, and hide what a change is about. Here is
where they are made, so a notebook cannot be wrong for long.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from needed import needed

FOLDER = Path(__file__).parents[1] / "notebooks"
#: What the outputs of a notebook have somewhere: a kind of output and a part of it.
SHOWN = {
    "shapes_of_your_model": [("text/html", "<code>batch, seq, 192</code>"), ("text/html", "`seq` can only be 32: Cell In[")],
    "transformer_in_twelve_lines": [
        ("text/html", "<code>32 -&gt; 4, 8</code>"),
        ("text/plain", "80/80"),
        ("stdout", "(5, 8, 6) right in the second half: 1.0"),
    ],
    "finding_a_mistake": [
        ("text/html", "self.head = nn.Linear(64, 10)"),
        ("stdout", "scores(): `d` is 64 in `query` and 32 in `key`\n  --> Cell In["),
        ("stdout", "error[E0301]: the last output axis of the result cannot be both 10 and 12"),
    ],
}


def outputs(notebook: Any) -> list[tuple[str, str]]:
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            found += [(output["name"], output["text"])] if output["output_type"] == "stream" else list(output["data"].items())
    return found


# The tests also run beside a wheel, without the notebooks.
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="there are no notebooks here")


@pytest.mark.parametrize("name", SHOWN)
def test_notebook(name: str) -> None:
    for library in ("torch", "ipykernel", "nbclient"):
        needed(library)
    import nbclient
    import nbformat

    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert outputs(notebook) == [], "a notebook is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    found = outputs(notebook)
    assert not [text for kind, text in found if kind == "stderr"]
    for kind, part in SHOWN[name]:
        assert any(kind == each and part in text for each, text in found), (part, [text for each, text in found if each == kind])


def test_every_notebook_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)
