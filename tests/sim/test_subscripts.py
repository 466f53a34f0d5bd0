"""Tests the table of source positions of index expressions in instrumented images."""

from numbalite.compilers.sim import subscripts


def test_subscripted_names_are_found():
    source = '#line 3 "a\\\\b.py"\nfloat loc[4];\nx = loc[k + 1];\n#line 9\nt[i][j] = 1;'
    assert (
        subscripts.subscript_name_table(source)
        == "@a\\b.py\n3 loc 1 7 10 12\n4 loc 1 5 8 14\n9 t 2 1 2 4 5 7\n"
    )


def test_indexed_members_have_their_position():
    """clang++ reports the position where the whole expression begins; if two names share this position, the
    table contains neither."""
    assert subscripts.subscript_name_table("q->v[k];") == "@\n1 v 1 1 4 5 7\n"
    assert subscripts.subscript_name_table("a.b[c].d[e];") == "@\n1 b 1 3 4 6\n1 d 1 8 9 11\n"


def test_function_calls_are_not_subscripts():
    assert (
        subscripts.subscript_name_table("f(x[i]); [&](int i) { return y; }(3);")
        == "@\n1 x 1 3 4 6\n"
    )
    assert "2 s 1 1 2 7" in subscripts.subscript_name_table(
        "array<float, 2> s{p, {2, 2}, {8, 4}};\ns(i, j);"
    )


def test_subscript_columns_count_bytes():
    assert subscripts.subscript_name_table("/* ä */ x[i];") == "@\n1 x 1 10 11 13\n"


def test_subscript_names_become_a_string_literal():
    assert subscripts.string_literal('@a"b\\c\n1 x 1 2\n') == '"@a\\"b\\\\c\\n" "1 x 1 2\\n"'
    assert subscripts.string_literal("") == '""'
