/* Cells that begin with %%cuda are CUDA C++, and so are strings of kernels, for JupyterLab 4 and Notebook 7.
 *
 * JupyterLab highlights a code cell by its MIME type, which it takes from the kernel's language; it knows
 * nothing of magics. This extension adds a language, text/x-cuda, and gives that type to cells whose first
 * line is a %%cuda, as long as it is one. Files *.cu and *.cuh are shown in the same language. In strings of
 * Python that look like C++, its words have their colours.
 *
 * What stands here is what the page loads: a container in the sense of module federation, which JupyterLab
 * asks for './extension' after handing it the modules that all extensions share. There is no build.
 */
"use strict";
(() => {
  const MAGIC = /^\s*%%cuda\b/;
  const MIME = "text/x-cuda";
  let shared; // name -> version -> {get}

  /* A module of JupyterLab's own; of several versions the one that is in use. */
  async function load(name) {
    const versions = Object.values(shared[name] || {});
    if (!versions.length) throw new Error(`numbalite: this page shares no ${name}`);
    const chosen = versions.find((version) => version.loaded) || versions[0];
    return (await chosen.get())();
  }

  // --- the language ---------------------------------------------------------------------------------

  const words = (text) => new Set(text.split(/\s+/));
  const KEYWORDS = words(`alignas alignof asm auto break case catch class concept const const_cast constexpr
    continue co_await co_return co_yield decltype default delete do dynamic_cast else enum explicit export
    extern for friend goto if inline mutable namespace new noexcept operator private protected public
    register reinterpret_cast requires return sizeof static static_assert static_cast struct switch template
    this thread_local throw try typedef typeid typename union using virtual volatile while
    __global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ __forceinline__
    __noinline__ __launch_bounds__ __grid_constant__ __cluster_dims__`);
  const TYPES = words(`bool char char8_t char16_t char32_t double float int long short signed size_t unsigned
    void wchar_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t half dim3 float2 float3
    float4 double2 int2 int3 int4 uint2 uint3 uint4 array complex tuple boolean bool_ int8 int16 int32 int64
    uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 intp uintp`);
  const ATOMS = words("true false nullptr NULL threadIdx blockIdx blockDim gridDim warpSize");

  function inComment(stream, state) {
    if (stream.skipTo("*/")) {
      stream.match("*/");
      state.inside = null;
    } else {
      stream.skipToEnd();
    }
    return "comment";
  }

  function inRaw(stream, state) {
    if (stream.skipTo(state.fence)) {
      stream.match(state.fence);
      state.inside = null;
    } else {
      stream.skipToEnd();
    }
    return "string";
  }

  function token(stream, state) {
    if (stream.sol() && stream.match(/^%%cuda\b.*/)) return "meta";
    if (state.inside) return state.inside(stream, state);
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.inside = inComment;
      return inComment(stream, state);
    }
    if (state.directive && stream.match(/^<[^>]*>/)) return "string";
    const raw = stream.match(/^(?:u8|[uUL])?R"([^ ()\\]{0,16})\(/);
    if (raw) {
      state.fence = `)${raw[1]}"`;
      state.inside = inRaw;
      return inRaw(stream, state);
    }
    if (stream.match(/^(?:u8|[uUL])?"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^(?:u8|[uUL])?'(?:[^'\\]|\\.)*'?/)) return "string";
    if (stream.match(/^(?:0[xX][\da-fA-F']+|0[bB][01']+|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[\w]*/)) {
      return "number";
    }
    const directive = stream.match(/^#\s*\w+/);
    if (directive) {
      state.directive = /include/.test(directive[0]);
      return "meta";
    }
    const word = stream.match(/^[A-Za-z_]\w*/);
    if (word) {
      if (KEYWORDS.has(word[0])) return "keyword";
      if (TYPES.has(word[0])) return "variableName.standard";
      if (ATOMS.has(word[0])) return "atom";
      return stream.match(/^\s*\(/, false) ? "variableName.function" : "variableName";
    }
    if (stream.match(/^[-+*/%=<>!&|^~?:]+/)) return "operator";
    const sign = stream.next();
    if ("{[(".includes(sign)) state.depth += 1;
    if ("}])".includes(sign)) state.depth = Math.max(0, state.depth - 1);
    return "punctuation";
  }

  const parser = {
    name: "cuda",
    startState: () => ({ inside: null, fence: "", directive: false, depth: 0 }),
    copyState: (state) => ({ ...state }),
    token(stream, state) {
      if (stream.sol()) state.directive = false;
      return token(stream, state);
    },
    indent: (state, after, context) =>
      (state.depth - (/^[}\])]/.test(after) ? 1 : 0)) * context.unit,
    languageData: {
      commentTokens: { line: "//", block: { open: "/*", close: "*/" } },
      indentOnInput: /^\s*[}\])]$/,
    },
  };

  // --- strings ----------------------------------------------------------------------------------------

  /* What only C++ has: statements, directives, kernels. docs/_ext/kernels.py looks for the same. */
  const IS_CXX = /;[ \t]*(\/\/.*)?$|;\s*\}|#include|__global__|\breturn\b.*;/m;
  const QUOTED = /^([rR]?)('''|"""|'|")([^]*)\2$/;

  /* [start, end, kind] of each word of a C++ text. */
  function* wordsOf(text, StringStream) {
    const state = parser.startState();
    let at = 0;
    for (const line of text.split("\n")) {
      const stream = new StringStream(line, 4, 4);
      while (!stream.eol()) {
        stream.start = stream.pos;
        const kind = parser.token(stream, state);
        if (kind) yield [at + stream.start, at + stream.pos, kind];
      }
      at += line.length + 1;
    }
  }

  /* An extension of the editor: colours for the strings in sight. */
  function inStrings({ language, view: { Decoration, EditorView, ViewPlugin }, state: { Prec }, tags }) {
    const { syntaxTree, highlightingFor, StringStream } = language;
    const TAGS = {
      keyword: tags.keyword,
      "variableName.standard": tags.standard(tags.variableName),
      "variableName.function": tags.function(tags.variableName),
      variableName: tags.variableName,
      atom: tags.atom,
      comment: tags.comment,
      number: tags.number,
      meta: tags.meta,
      operator: tags.operator,
      punctuation: tags.punctuation,
    };

    function decorate({ state, visibleRanges }) {
      const found = [];
      if (state.facet(language.language)?.name !== "python") return Decoration.none;
      let last = -1; // a string may reach from one visible range into the next
      function enter(node) {
        if (node.name !== "String" || node.from <= last) return;
        last = node.from;
        const parts = QUOTED.exec(state.sliceDoc(node.from, node.to));
        if (!parts || !IS_CXX.test(parts[3])) return;
        const begin = node.from + parts[1].length + parts[2].length;
        for (const [start, end, kind] of wordsOf(parts[3], StringStream)) {
          const colour = TAGS[kind] && highlightingFor(state, [TAGS[kind]]);
          if (kind === "string") continue; // it has the colour already
          const mark = Decoration.mark({ class: colour || "numbalite-plain" });
          found.push(mark.range(begin + start, begin + end));
        }
      }
      for (const { from, to } of visibleRanges) syntaxTree(state).iterate({ from, to, enter });
      return Decoration.set(found);
    }

    const plugin = ViewPlugin.fromClass(
      class {
        constructor(view) {
          this.decorations = decorate(view);
        }
        update(change) {
          const parsed = syntaxTree(change.startState) !== syntaxTree(change.state);
          if (change.docChanged || change.viewportChanged || parsed) {
            this.decorations = decorate(change.view);
          }
        }
      },
      { decorations: (value) => value.decorations },
    );
    // Of two marks in one place the one with more precedence is the inner one, whose colour is seen.
    const plain = { color: "var(--jp-mirror-editor-variable-color, inherit)" };
    return [Prec.highest(plugin), EditorView.baseTheme({ ".numbalite-plain": plain })];
  }

  // --- the cells ------------------------------------------------------------------------------------

  /* Keeps the type of one code cell what its first line says. */
  function follow(model) {
    const check = () => {
      const isCuda = MAGIC.test(model.sharedModel.getSource());
      if (isCuda && model.mimeType !== MIME) {
        model.numbaliteBefore = model.mimeType;
        model.mimeType = MIME;
      } else if (!isCuda && model.mimeType === MIME) {
        model.mimeType = model.numbaliteBefore || "text/x-ipython";
      }
    };
    check();
    model.contentChanged.connect(check);
    model.mimeTypeChanged.connect(check); // JupyterLab sets it again when the kernel has told its language
  }

  function watch(panel) {
    const seen = new WeakSet();
    const look = () => {
      for (const cell of panel.content.widgets) {
        if (cell.model.type === "code" && !seen.has(cell.model)) {
          seen.add(cell.model);
          follow(cell.model);
        }
      }
    };
    const attach = () => {
      look();
      panel.content.model?.cells.changed.connect(() => setTimeout(look, 0));
    };
    panel.content.modelChanged.connect(attach);
    attach();
    panel.context.ready.then(look);
  }

  async function plugin() {
    const [{ INotebookTracker }, codemirror, language, view, state, { tags }] = await Promise.all([
      load("@jupyterlab/notebook"),
      load("@jupyterlab/codemirror"),
      load("@codemirror/language"),
      load("@codemirror/view"),
      load("@codemirror/state"),
      load("@lezer/highlight"),
    ]);
    const { IEditorExtensionRegistry, IEditorLanguageRegistry, EditorExtensionRegistry } = codemirror;
    return {
      id: "numbalite:cuda",
      description: "Highlights %%cuda cells, strings of kernels and .cu files as CUDA C++",
      autoStart: true,
      requires: [INotebookTracker, IEditorLanguageRegistry, IEditorExtensionRegistry],
      activate(app, notebooks, languages, extensions) {
        languages.addLanguage({
          name: "CUDA C++",
          mime: MIME,
          extensions: ["cu", "cuh"],
          load: async () =>
            new language.LanguageSupport(language.StreamLanguage.define(parser)),
        });
        const colours = inStrings({ language, view, state, tags });
        extensions.addExtension({
          name: "numbalite:strings",
          factory: () => EditorExtensionRegistry.createImmutableExtension(colours),
        });
        app.docRegistry.addFileType({
          name: "cuda",
          displayName: "CUDA C++",
          extensions: [".cu", ".cuh"],
          mimeTypes: [MIME],
          fileFormat: "text",
        });
        notebooks.forEach(watch);
        notebooks.widgetAdded.connect((_, panel) => watch(panel));
      },
    };
  }

  // --- the container --------------------------------------------------------------------------------

  const container = {
    async init(scope) {
      shared = scope;
    },
    async get(name) {
      if (name !== "./extension") throw new Error(`numbalite has no ${name}`);
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.numbalite = container;
})();
