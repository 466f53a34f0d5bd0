"""Tests JupyterLab's extension, run by node with stand-ins for JupyterLab's modules: the colours of
strings."""

import json
import shutil
import subprocess

import pytest

# CodeMirror's StringStream as far as the tokenizer uses it, and an editor with one Python string in it.
HARNESS = r"""
globalThis.window = {};
require(process.argv[1]);
const text = require("fs").readFileSync(0, "utf8");
class StringStream {
  constructor(string) { this.string = string; this.pos = this.start = 0; }
  sol() { return this.pos === 0; }
  eol() { return this.pos >= this.string.length; }
  next() { return this.eol() ? undefined : this.string[this.pos++]; }
  eatSpace() { const m = /^\s+/.exec(this.string.slice(this.pos)); if (m) this.pos += m[0].length; return !!m; }
  skipToEnd() { this.pos = this.string.length; }
  skipTo(s) { const at = this.string.indexOf(s, this.pos); if (at < 0) return false; this.pos = at; return true; }
  match(p, consume) {
    const rest = this.string.slice(this.pos);
    const m = typeof p === "string" ? rest.startsWith(p) && [p] : p.exec(rest);
    if (m && consume !== false) this.pos += m[0].length;
    return m || null;
  }
}
const registered = {};
const tree = { iterate({ enter }) { enter({ name: "String", from: 0, to: text.length }); } };
const tag = (name) => Object.assign((of) => name, { tag: name });
const tags = Object.fromEntries("keyword atom comment number meta operator variableName punctuation".split(" ").map((n) => [n, n]));
Object.assign(tags, { standard: () => "type", function: () => "function" });
const modules = {
  "@jupyterlab/notebook": { INotebookTracker: "t" },
  "@jupyterlab/codemirror": { EditorExtensionRegistry: { createImmutableExtension: (e) => e } },
  "@codemirror/language": {
    StringStream, language: "language", syntaxTree: () => tree, highlightingFor: (_, [t]) => t,
    LanguageSupport: class {}, StreamLanguage: { define: (p) => p },
  },
  "@codemirror/state": { Prec: { highest: (e) => e } },
  "@codemirror/view": {
    Decoration: { none: [], set: (d) => d, mark: (m) => ({ range: (a, b) => [m.class, text.slice(a, b)] }) },
    EditorView: { baseTheme: () => null },
    ViewPlugin: { fromClass: (c) => c },
  },
  "@lezer/highlight": { tags },
};
const shared = Object.fromEntries(Object.entries(modules).map(([n, m]) => [n, { 1: { loaded: 1, get: async () => () => m } }]));
(async () => {
  const container = window._JUPYTERLAB.numbalite;
  await container.init(shared);
  const plugin = (await container.get("./extension"))().default;
  plugin.activate(
    { docRegistry: { addFileType() {} } },
    { forEach() {}, widgetAdded: { connect() {} } },
    { addLanguage() {} },
    { addExtension: (e) => { registered.extension = e.factory(); } },
  );
  const state = { facet: () => ({ name: process.argv[2] }), sliceDoc: (a, b) => text.slice(a, b) };
  const made = new registered.extension[0]({ state, visibleRanges: [{}, {}] });
  console.log(JSON.stringify(made.decorations));
})();
"""


@pytest.fixture
def colours_of(checkout_root):
    """Returns colours_of(string, language="python"), which returns a list of (colour, word)."""
    if shutil.which("node") is None:
        pytest.skip("needs node")
    script = checkout_root / "numbalite/jupyter/labextension/static/remoteEntry.js"

    def run_highlighter(string, language="python"):
        command = ["node", "-e", HARNESS, script, language]
        done = subprocess.run(command, input=string, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [tuple(pair) for pair in json.loads(done.stdout)]

    return run_highlighter


def test_kernel_strings_are_highlighted_as_cpp(colours_of):
    kernel = '"""\n    // sum\n    __shared__ float s[32];\n    if (threadIdx.x < 3) s[0] = grid<1>();\n    """'
    found = colours_of(kernel)
    for pair in (
        ("comment", "// sum"), ("keyword", "__shared__"), ("type", "float"), ("number", "32"),
        ("atom", "threadIdx"), ("keyword", "if"), ("variableName", "s"),
    ):  # fmt: skip
        assert found.count(pair) >= 1, (pair, found)
    assert [word for _, word in found].count("if") == 1, "once, though seen in two visible ranges"
    assert colours_of("r'return x * 2;'")[0] == ("keyword", "return")


def test_other_strings_keep_their_colour(colours_of):
    assert colours_of('"""A docstring; it is text."""') == []
    assert colours_of('"plain"') == []
    assert colours_of('"return 1;"', "javascript") == []
