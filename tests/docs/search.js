// Runs the search of a built site without a browser: node search.js SITE '["query", ...]'
// Prints, for each query, the pages in the order in which the site lists them.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [site, queries] = [process.argv[2], JSON.parse(process.argv[3])];
const nothing = () => null;
const context = vm.createContext({
  DOCUMENTATION_OPTIONS: { FILE_SUFFIX: ".html", LINK_SUFFIX: ".html" },
  SPHINX_HIGHLIGHT_ENABLED: false,
  _: (text) => text,
  _ready: nothing,
  console,
  document: { addEventListener: nothing, getElementById: nothing, documentElement: { dataset: {} } },
  localStorage: { getItem: nothing, removeItem: nothing, setItem: nothing },
  queries,
});
context.window = context; // as in a browser
for (const name of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"])
  vm.runInContext(fs.readFileSync(path.join(site, name), "utf8"), context, { filename: name });
const found = vm.runInContext(
  "queries.map((query) => Search._performSearch(...Search._parseQuery(query)).reverse())",
  context,
);
console.log(JSON.stringify(found.map((results) => [...new Set(results.map(([page]) => page))])));
