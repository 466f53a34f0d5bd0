"""Stores the outputs of the notebooks' cells on the simulator, and recorded outputs of a GPU.

    python tests/notebooks/outputs.py [NOTEBOOK ...]       run on the simulator, results stored
    python tests/notebooks/outputs.py --record FILE        on a GPU: the measuring cells' outputs, into FILE
    python tests/notebooks/outputs.py --recorded FILE      FILE, as cells below the measuring ones

A cell with the tag "measured" has outputs that depend on the machine. The GPU's output is in a
separate cell below it, so that it is still there when a reader runs the notebook; it is removed
when the cell above changes. Each notebook contains a digest of the programs whose results are
stored in it: `outdated_cells` lists the cells that differ.
"""

import argparse
import base64
import contextlib
import hashlib
import io
import json
import os
import pathlib
import sys
import time
import traceback

import books

TAG = "measured"
RECORDED = "-recorded"


def digest_of_text(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_of_code(book):
    """Returns a digest of all code cells of a notebook."""
    return digest_of_text("\0".join(map(books.cell_source, books.code_cells(book))))


def is_measured(cell):
    return TAG in cell["metadata"].get("tags", ())


def is_recorded(cell):
    return cell["id"].endswith(RECORDED)


def outdated_cells(book):
    """Returns the cells whose stored results are outdated, one sentence each."""
    found = []
    if book["metadata"].get("numbalite", {}).get("programs") != digest_of_code(book):
        found.append("the stored results are those of other programs")
    before = None
    for cell in book["cells"]:
        if is_recorded(cell):
            fits = before is not None and cell["id"] == before["id"] + RECORDED
            if not fits or cell["metadata"].get("program") != digest_of_text(
                books.cell_source(before)
            ):
                found.append(f"{cell['id']} is of another program")
        before = cell
    return found


def write_notebook(book, path):
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# --- on the simulator ------------------------------------------------------------------------------------


def store_outputs(path, kernels):
    """Runs a notebook as readers get it, and stores the outputs of its cells."""
    book = books.read_notebook(path)
    done = kernels.execute(book)
    ran = {cell["id"]: cell for cell in done["cells"]}
    kept, before = [], None
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = _normalized_outputs(ran[cell["id"]]["outputs"])
            cell["execution_count"] = ran[cell["id"]]["execution_count"]
        stale = is_recorded(cell) and (
            before is None
            or cell["metadata"].get("program") != digest_of_text(books.cell_source(before))
        )
        if not stale:
            kept.append(cell)
            before = cell
    book["cells"] = kept
    book["metadata"]["numbalite"] = {"programs": digest_of_code(book)}
    write_notebook(book, path)


def _normalized_outputs(outputs):
    """Returns the outputs, without those that were cleared."""
    return [_normalize_output(output) for output in outputs if output.get("data") != {}]


def _normalize_output(output):
    """Returns the output without the parts that differ in each run, divided into lines as Jupyter
    does."""
    output.get("metadata", {}).pop("execution", None)
    if "text" in output:
        output["text"] = "".join(output["text"]).splitlines(keepends=True)
    for kind, data in output.get("data", {}).items():
        if kind.startswith("image/png"):
            output["data"][kind] = _smaller_picture("".join(data))
        elif isinstance(data, (str, list)):
            output["data"][kind] = "".join(data).splitlines(keepends=True)
    return output


def _smaller_picture(picture):
    """Returns a picture with 256 colours, in base64."""
    from PIL import Image

    out = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture)))
    image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, "png", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


# --- on a GPU --------------------------------------------------------------------------------------------


def record_measurements(paths, file, seconds):
    """Runs the notebooks that measure, in this process, and records the texts and figures of the
    measuring cells."""
    import matplotlib

    from numbalite.course import where

    matplotlib.use("Agg")
    cores = len(os.sched_getaffinity(0))
    device = f"a machine with {where().removeprefix('On ').removesuffix('.')} and {cores} CPU cores"
    taken, end = {"device": device, "books": {}}, time.time() + seconds
    for path in paths:
        book = books.read_notebook(path)
        if not any(map(is_measured, books.code_cells(book))) or time.time() > end:
            continue
        began = time.time()
        taken["books"][books.notebook_name(path)] = cells = {}
        names = {"__name__": "__main__"}
        for cell in books.code_cells(book):
            said, text = io.StringIO(), books.cell_source(cell)
            try:
                with contextlib.redirect_stdout(said):
                    books.run_cell(text, f"<{path.stem}, cell {cell['id']}>", names)
            except BaseException:
                print(
                    books.notebook_name(path), cell["id"], traceback.format_exc(limit=-3), sep="\n"
                )
                break
            drawn = _open_figures()
            if is_measured(cell):
                cells[cell["id"]] = {
                    "program": digest_of_text(text), "text": said.getvalue(), "pictures": drawn,
                }  # fmt: skip
        print(
            f"{books.notebook_name(path)}: {len(cells)} cells, {time.time() - began:.1f} s",
            flush=True,
        )
        file.write_text(json.dumps(taken))


def _open_figures():
    """Returns all open figures as PNG in base64, and closes the figures."""
    import matplotlib.pyplot as plt

    pictures = []
    for figure in map(plt.figure, plt.get_fignums()):
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=72, bbox_inches="tight")
        pictures.append(base64.b64encode(out.getvalue()).decode())
    plt.close("all")
    return pictures


def insert_outputs(paths, file):
    """Inserts the recorded outputs below their cells, if the cells are unchanged."""
    taken = json.loads(file.read_text())
    for path in paths:
        cells = taken["books"].get(books.notebook_name(path), {})
        if not cells:
            continue
        book = books.read_notebook(path)
        made = []
        for cell in book["cells"]:
            if is_recorded(cell) and cell["id"].removesuffix(RECORDED) in cells:
                continue
            made.append(cell)
            recorded = cells.get(cell["id"])
            if recorded and recorded["program"] == digest_of_text(books.cell_source(cell)):
                made.append(
                    _cell_with_output(cell, taken["device"], recorded["text"], recorded["pictures"])
                )
        book["cells"] = made
        write_notebook(book, path)


def _cell_with_output(cell, device, text, pictures):
    """Returns the cell with a GPU's output."""
    parts = [f"**Recorded on {device}**, not on yours: the output of the cell above."]
    if text.strip():
        parts.append(f"```\n{text.rstrip()}\n```")
    attachments = {}
    for number, picture in enumerate(pictures):
        name = f"recorded-{number}.png" if number else "recorded.png"
        parts.append(f"![the figure above, on {device}](attachment:{name})")
        attachments[name] = {"image/png": _smaller_picture(picture)}
    made = {
        "cell_type": "markdown", "id": cell["id"] + RECORDED,
        "metadata": {"program": digest_of_text(books.cell_source(cell))},
        "source": "\n\n".join(parts).splitlines(keepends=True),
    }  # fmt: skip
    return {**made, "attachments": attachments} if attachments else made


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--recorded", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=3600, help="no notebook begins later")
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    paths = [path.resolve() for path in given.notebooks] or books.NOTEBOOKS
    sys.path.insert(0, str(books.ROOT))
    if given.record:
        record_measurements(paths, given.record, given.seconds)
    elif given.recorded:
        insert_outputs(paths, given.recorded)
    else:
        os.environ["NUMBALITE_DRIVER"] = "sim"
        kernels = books.NotebookKernels()
        for path in paths:
            print(books.notebook_name(path), flush=True)
            store_outputs(path, kernels)
        kernels.close()


if __name__ == "__main__":
    main()
