"""Rewrites declarations that a goto or switch jumps over, which GPU compilers allow for numbers. Before and
after the rewrite:

    case 0: int i = 3; ...          case 0: int i; i = 3; ...
    case 1: ...                     case 1: ...

C++ rejects the code before the rewrite and accepts the code after it. If a switch or an earlier goto jumps
over a declaration to a label of the same block, the declaration is split into a declaration and an
assignment.
"""

from __future__ import annotations

from numbalite.cxx import scanner

_OTHER_STATEMENTS = scanner.KEYWORDS - scanner.TYPE_WORDS - {"typename"} | {
    "constexpr",
    "__shared__",
}
_SIGNS_OF_TYPES = frozenset(("::", "<", ">"))


def declaration_edits(text, tokens, partner):
    """Yields (first token, last token, replacement) to split declarations that a goto or a case label skips."""
    gotos = [(at, tokens[at + 1].text) for at, t in enumerate(tokens[:-1]) if t.text == "goto"]
    if not gotos and not any(t.text == "case" for t in tokens):
        return
    for opening, token in enumerate(tokens):
        if token.text == "{" and token.kind == "sign" and opening in partner:
            yield from _block_edits(text, tokens, partner, opening, gotos)


def _block_edits(text, tokens, partner, opening, gotos):
    statements, labels = _statements(tokens, partner, opening)
    for first, last in statements:
        after = [name for at, name in labels if at > first]
        if "case" in after or any(name in after for at, name in gotos if at < first):
            replacement = _split_declaration(text, tokens, partner, first, last)
            if replacement:
                yield first, last, replacement


def _statements(tokens, partner, opening):
    """Returns the statements of a block that end with ; as (first, last) token indices, and the labels as
    (index, name)."""
    statements, labels = [], []
    at = first = opening + 1
    while at < partner[opening]:
        token = tokens[at]
        if token.text in ("case", "default"):
            labels.append((at, "case"))
            while at < partner[opening] and tokens[at].text != ":":
                at += 1
            first = at + 1
        elif token.text == ":" and at == first + 1 and tokens[first].kind == "name":
            labels.append((first, tokens[first].text))
            first = at + 1
        elif token.text == ";":
            statements.append((first, at))
            first = at + 1
        elif token.kind == "directive":
            first = at + 1
        elif token.kind == "sign" and token.text in "([{" and at in partner:
            is_body = token.text == "{" and (at == first or tokens[at - 1].text not in ("=", "]"))
            at = partner[at]
            if is_body:
                first = at + 1
        at += 1
    return statements, labels


def _split_declaration(text, tokens, partner, first, last):
    """Returns the text ``int i; i = 3;`` for ``int i = 3;``, or None for any other statement."""
    parts = _declarators(tokens, partner, first, last)
    values = [_initializer_index(tokens, part) for part in parts]
    if not any(values) or not all(
        _is_simple_declarator(tokens, part, value)
        for part, value in zip(parts, values, strict=True)
    ):
        return None
    type_, head = _type_tokens(tokens, parts[0], values[0])
    if type_ is None:
        return None
    names, assigned = [], []
    for part, value in zip([head, *parts[1:]], values, strict=True):
        declared = [tokens[i].text for i in part if value is None or i < value]
        names.append(" ".join(word for word in declared if word != "const"))
        if value is not None:
            end = tokens[part[-1]]
            given = text[tokens[value + 1].start : end.start + len(end.text)]
            assigned.append((declared[-1], given))
    if "*" not in "".join(names):
        type_ = [word for word in type_ if word != "const"]
    if "auto" in type_:
        if len(assigned) != len(names) or len(names) > 1:
            return None
        type_ = [f"decltype(::numbalite_sim::copied({assigned[0][1]}))"]
    given = " ".join(f"{name} = {value}; NUMBALITE_SIM_JUMPED({name})" for name, value in assigned)
    return f"{' '.join(type_)} {', '.join(names)}; {given}"


def _declarators(tokens, partner, first, last):
    """Returns a list with the token indices of each declarator, separated by commas. The tokens of the first
    declarator include the type."""
    parts, at = [[]], first
    while at < last:
        token = tokens[at]
        if token.text == ",":
            parts.append([])
        elif token.kind == "sign" and token.text in "([{" and at in partner:
            parts[-1] += range(at, partner[at] + 1)
            at = partner[at]
        else:
            parts[-1].append(at)
        at += 1
    return parts


def _initializer_index(tokens, part):
    """Returns the token index of the `=` in a declarator, or None."""
    return next((i for i in part if tokens[i].text == "="), None)


def _is_simple_declarator(tokens, part, value):
    """Returns whether the text before the value contains only names, * and type punctuation."""
    declared = [tokens[i] for i in part if value is None or i < value]
    if value is not None and (value == part[-1] or tokens[value + 1].text == "="):
        return False
    return bool(declared) and declared[-1].kind == "name" and all(
        (t.kind == "name" and t.text not in _OTHER_STATEMENTS)
        or t.text in _SIGNS_OF_TYPES or t.text == "*"
        for t in declared
    )  # fmt: skip


def _type_tokens(tokens, part, value):
    """Returns (the texts of the type's tokens, the token indices of the first declarator); (None, None) if
    the declaration has no type."""
    end = part.index(value) if value is not None else len(part)
    name = end - 1
    while name > 0 and tokens[part[name - 1]].text in ("*", "const"):
        if tokens[part[name - 1]].text == "const" and "*" not in [
            tokens[i].text for i in part[: name - 1]
        ]:
            break
        name -= 1
    words = [tokens[i].text for i in part[:name]]
    if words[-1:] == ["::"] or all(word == "const" for word in words):
        return None, None
    return words, part[name:]
