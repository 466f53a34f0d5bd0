"""Makes the search find `__syncthreads` by `syncthreads`: words with surrounding underscores are indexed
without underscores, too."""

from sphinx.search import languages
from sphinx.search.en import SearchEnglish


class SearchCuda(SearchEnglish):
    """The search language: Search language: English, with the names of CUDA."""

    def split(self, input):
        words = super().split(input)
        return [*words, *(word.strip("_") for word in words if word != word.strip("_") != "")]


def setup(app):
    languages["en"] = SearchCuda
    return {"parallel_read_safe": True, "parallel_write_safe": True}
