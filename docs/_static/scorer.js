/* The order of what the search finds: Sphinx's own weights, and of pages that match alike the reference and
 * the guide before lessons. */
var Scorer = {
  score: ([page, , , , score]) =>
    score + (page.startsWith("docs/reference") ? 3 : page.startsWith("docs/") ? 2 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
