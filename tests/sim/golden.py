"""Defines expressions of CUDA C++, and records their results on a real GPU.

`python golden.py` compiles them for the GPU at hand and writes golden.json: for each group the
answers in the order of the expressions, as "type:bits". golden.json was recorded on an H200.
test_golden.py compiles the expressions for the simulator and compares the results. I, U, L, UL, F and D
hide a constant from the compiler, so that the operation is executed at run time."""

from __future__ import annotations

import itertools
import json
import os
import re

INTS = ["0", "1", "-1", "7", "-7", "2147483647", "-2147483647-1", "123456789", "-123456789"]
UINTS = ["0u", "1u", "7u", "0x80000000u", "0xffffffffu", "0x12345678u", "0xdeadbeefu"]
LONGS = [
    "0ll",
    "5ll",
    "-5ll",
    "9223372036854775807ll",
    "-9223372036854775807ll-1",
    "81985529216486895ll",
]
ULONGS = ["0ull", "3ull", "0x8000000000000000ull", "0xffffffffffffffffull", "0x0123456789abcdefull"]
FLOATS = ["0.0f", "-0.0f", "0.5f", "-0.5f", "1.5f", "2.5f", "-2.5f", "3.7f", "-3.7f", "1e10f", "-1e10f",
          "4294967296.0f", "1e30f", "nanf(\"\")", "__int_as_float(0x7f800000)", "__int_as_float(0xff800000)"]  # fmt: skip
DOUBLES = ["0.0", "-0.5", "1.5", "2.5", "-2.5", "1e10", "-1e10", "1e19", "-1e19", "1e300", "nan(\"\")",
           "__longlong_as_double(0x7ff0000000000000ll)"]  # fmt: skip


def _integer_expressions():
    for a in INTS:
        for b in ("0", "-1", "3", "-3"):
            yield f"I({a}) / I({b})"
            yield f"I({a}) % I({b})"
        for n in ("0", "1", "31", "32", "33", "64", "-1"):
            yield f"I({a}) >> I({n})"
            yield f"I({a}) << I({n})"
        for f in ("__clz", "__ffs", "abs", "__popc", "__brev"):
            yield f"{f}(I({a}))"
        yield f"__clzll((long long)I({a}))"
    for a in UINTS:
        for b in ("0u", "3u"):
            yield f"U({a}) / U({b})"
            yield f"U({a}) % U({b})"
        for n in ("0u", "5u", "32u", "40u"):
            yield f"U({a}) >> U({n})"
            yield f"U({a}) << U({n})"
            for f in ("__funnelshift_l", "__funnelshift_r", "__funnelshift_lc", "__funnelshift_rc"):
                yield f"{f}(U({a}), U(0x9abcdef0u), U({n}))"
        for s in ("0x3210u", "0x7654u", "0x0123u", "0xba98u", "0xf4c1u"):
            yield f"__byte_perm(U({a}), U(0x89abcdefu), U({s}))"
        for base, offset in ((0, 1), (0, 3), (31, -2), (5, 0), (16, 2), (31, -1), (0, 20)):
            yield f"__fns(U({a}), U({base}u), I({offset}))"
        for b in UINTS:
            for f in ("__umulhi", "__umul24", "__uhadd", "__urhadd", "max", "min", "umax", "umin"):
                yield f"{f}(U({a}), U({b}))"
            yield f"__usad(U({a}), U({b}), U(5u))"
            yield f"__dp4a(U({a}), U({b}), U(7u))"
            yield f"__dp2a_lo(U({a}), U({b}), U(7u))"
            yield f"__dp2a_hi(U({a}), U({b}), U(7u))"
    for a in INTS:
        for b in INTS:
            for f in ("__mulhi", "__mul24", "__hadd", "__rhadd", "max", "min"):
                yield f"{f}(I({a}), I({b}))"
            yield f"__sad(I({a}), I({b}), U(5u))"
            yield f"__dp4a(I({a}), I({b}), I(7))"
            yield f"__dp2a_lo(I({a}), I({b}), I(7))"
            yield f"__dp2a_hi(I({a}), I({b}), I(7))"
        yield f"max(I({a}), U(5u))"
        yield f"min(I({a}), U(5u))"
    for a in LONGS:
        for b in ("0ll", "-1ll", "3ll"):
            yield f"L({a}) / L({b})"
            yield f"L({a}) % L({b})"
        for n in ("0", "5", "63", "64", "100"):
            yield f"L({a}) >> I({n})"
            yield f"L({a}) << I({n})"
        for b in LONGS:
            for f in ("__mul64hi", "max", "min", "llmax", "llmin"):
                yield f"{f}(L({a}), L({b}))"
        for f in ("__clzll", "__ffsll", "llabs", "__popcll", "__brevll"):
            yield f"{f}(L({a}))"
    for a in ULONGS:
        for b in ("0ull", "3ull"):
            yield f"UL({a}) / UL({b})"
            yield f"UL({a}) % UL({b})"
        for n in ("0", "5", "64"):
            yield f"UL({a}) >> I({n})"
            yield f"UL({a}) << I({n})"
        for b in ULONGS:
            for f in ("__umul64hi", "max", "min", "ullmax", "ullmin"):
                yield f"{f}(UL({a}), UL({b}))"
    yield "(signed char)I(100) / (signed char)I(0)"
    yield "(short)I(-32768) / (short)I(-1)"
    yield "__hiloint2double(I(1072693248), I(77))"
    yield "__double2hiint(D(-3.75))"
    yield "__double2loint(D(1.1))"
    yield "__nv_bswap32(U(0x12345678u))"


def _conversion_expressions():
    for name, values, hide in (("float", FLOATS, "F"), ("double", DOUBLES, "D")):
        for x in values:
            for to in ("int", "uint", "ll", "ull"):
                for mode in ("rn", "rz", "ru", "rd"):
                    yield f"__{name}2{to}_{mode}({hide}({x}))"
            for to in ("int", "unsigned", "long long", "unsigned long long", "short", "unsigned short",
                       "signed char", "unsigned char"):  # fmt: skip
                yield f"({to}){hide}({x})"
            if name == "double":
                for mode in ("rn", "rz", "ru", "rd"):
                    yield f"__double2float_{mode}({hide}({x} * 1.1))"
    for mode in ("rn", "rz", "ru", "rd"):
        for x in (*INTS, "16777217", "33554435", "-33554435"):
            yield f"__int2float_{mode}(I({x}))"
        for x in (*UINTS, "4294967295u", "16777219u"):
            yield f"__uint2float_{mode}(U({x}))"
        for x in (*LONGS, "9007199254740993ll", "-9007199254740993ll"):
            yield f"__ll2float_{mode}(L({x}))"
            yield f"__ll2double_{mode}(L({x}))"
        for x in (*ULONGS, "9007199254740995ull"):
            yield f"__ull2float_{mode}(UL({x}))"
            yield f"__ull2double_{mode}(UL({x}))"


def _rounding_expressions():
    pairs = (("0.1f", "0.2f"), ("1.0f", "1e-10f"), ("-1.0f", "1e-10f"), ("3.0e38f", "3.0e38f"),
             ("1e-40f", "0.3f"), ("7.0f", "-3.0f"), ("1.0f", "-1.0f"), ("1.0f", "0.0f"))  # fmt: skip
    for mode in ("rn", "rz", "ru", "rd"):
        for a, b in pairs:
            for op in ("add", "sub", "mul", "div"):
                yield f"__f{op}_{mode}(F({a}), F({b}))"
                yield f"__d{op}_{mode}(D((double){a}), D((double){b}))"
            yield f"__fmaf_{mode}(F({a}), F({b}), F(0.7f))"
            yield f"__fma_{mode}(D((double){a}), D((double){b}), D(0.7))"
        for a in ("0.1f", "2.0f", "3.0f", "-3.0f", "1e-30f"):
            yield f"__frcp_{mode}(F({a}))"
            yield f"__drcp_{mode}(D((double){a}))"
            yield f"__fsqrt_{mode}(F({a}))"
            yield f"__dsqrt_{mode}(D((double){a}))"
    for a in ("0.1f", "2.0f", "3.0f", "4.0f"):
        yield f"__frsqrt_rn(F({a}))"
    for a, b in (("3.0f", "1e38f"), ("2.0f", "1.5e38f"), ("1.0f", "3.0f")):
        yield f"__fdividef(F({a}), F({b}))"
    for a in ("0.3f", "-1.0f", "7.0f", 'nanf("")'):
        yield f"__saturatef(F({a}))"


def _extreme_expressions():
    special = ("1.0", "-2.0", "0.0", "-0.0", "NANVALUE")
    for a in special:
        for b in special:
            for f in ("fmax", "fmin", "max", "min"):
                x, y = (v.replace("NANVALUE", 'nan("")') for v in (a, b))
                yield f"{f}(D({x}), D({y}))"
                x, y = (v.replace("NANVALUE", 'nanf("")') for v in (a, b))
                x, y = (v if "nan" in v else v + "f" for v in (x, y))
                yield f"{f}(F({x}), F({y}))"
    for f in ("isnan", "isinf", "isfinite"):
        for x in FLOATS:
            yield f"(bool){f}(F({x}))"
    for x in FLOATS[:13]:
        for f in ("rintf", "roundf", "truncf", "floorf", "ceilf", "nearbyintf", "fabsf"):
            yield f"{f}(F({x}))"
    for x in ("0.5f", "-2.5f", "1e6f", "3.7f"):
        for f in ("lrintf", "lroundf", "llrintf", "llroundf", "ilogbf", "logbf"):
            yield f"(long long){f}(F({x}))"


_UNARY = {
    "sin": "0.1 1.0 -2.5 100.0 1e5",
    "cos": "0.1 1.0 -2.5 100.0 1e5",
    "tan": "0.1 1.0 -2.5 100.0",
    "asin": "0.1 -0.5 1.0",
    "acos": "0.1 -0.5 1.0",
    "atan": "0.1 -2.5 1e10",
    "sinh": "0.1 -2.5 10.0",
    "cosh": "0.1 -2.5 10.0",
    "tanh": "0.1 -2.5 10.0",
    "asinh": "0.1 -2.5 10.0",
    "acosh": "1.1 2.5 10.0",
    "atanh": "0.1 -0.9",
    "exp": "0.1 -2.5 10.0 -80.0",
    "exp2": "0.1 -2.5 10.0",
    "exp10": "0.1 -2.5 3.0 10.0",
    "expm1": "0.001 -2.5 10.0",
    "log": "0.1 2.5 1e10 0.0",
    "log2": "0.1 2.5 1e10 8.0",
    "log10": "0.1 2.5 1e10 1000.0",
    "log1p": "0.001 2.5 -0.5",
    "sqrt": "0.1 2.0 1e10 0.0",
    "rsqrt": "0.1 2.0 1e10 4.0 0.0",
    "cbrt": "0.1 -27.0 1e10",
    "rcbrt": "0.1 -27.0 1e10",
    "erf": "0.1 -2.5 0.9",
    "erfc": "0.1 -2.5 5.0",
    "erfcx": "0.1 -2.5 5.0 9.0 100.0",
    "erfinv": "0.1 -0.5 0.9 0.999 1.0",
    "erfcinv": "0.1 0.5 1.0 1.5 1.9 1e-5 1e-30",
    "normcdf": "0.1 -2.5 5.0 -10.0",
    "normcdfinv": "0.1 0.5 0.9 1e-5 0.999",
    "tgamma": "0.1 2.5 10.0 -1.5",
    "lgamma": "0.1 2.5 10.0 -1.5",
    "sinpi": "0.1 0.5 -0.25 1.0 1.5 2.0 -3.0 100.25 0.0 1e15",
    "cospi": "0.1 0.5 -0.25 1.0 1.5 2.0 -3.0 100.25 0.0 1e15",
    "j0": "0.1 2.5 20.0",
    "j1": "0.1 2.5 20.0",
    "y0": "0.1 2.5 20.0",
    "y1": "0.1 2.5 20.0",
    "cyl_bessel_i0": "0.1 -2.5 20.0 60.0",
    "cyl_bessel_i1": "0.1 -2.5 20.0 60.0",
}
_BINARY = {
    "pow": "2.0,0.5 -2.0,3.0 10.0,-3.0 0.0,0.0 1.5,100.0",
    "atan2": "1.0,2.0 -1.0,-2.0 0.0,-1.0",
    "hypot": "3.0,4.0 1e20,1e20 0.0,0.0",
    "rhypot": "3.0,4.0 0.5,0.0",
    "fmod": "7.5,2.0 -7.5,2.0 1e10,3.0",
    "remainder": "7.5,2.0 -7.5,2.0 5.0,3.0",
    "copysign": "1.0,-0.0 -3.0,2.0",
    "nextafter": "1.0,2.0 0.0,-1.0",
    "fdim": "3.0,1.0 1.0,3.0",
}


def _math_expressions():
    for f, values in _UNARY.items():
        for x in values.split():
            yield f"{f}(D({x}))"
            yield f"{f}(F({x}f))"
            yield f"{f}f(F({x}f))"
    for f, values in _BINARY.items():
        for pair in values.split():
            a, b = pair.split(",")
            yield f"{f}(D({a}), D({b}))"
            yield f"{f}(F({a}f), F({b}f))"
    for f in (
        "__sinf",
        "__cosf",
        "__tanf",
        "__expf",
        "__exp10f",
        "__logf",
        "__log2f",
        "__log10f",
        "__tanhf",
    ):
        yield f"{f}(F(0.7f))"
    yield "__powf(F(2.0f), F(0.5f))"
    yield "(double)pow(F(2.0f), I(10))"
    yield "pow(D(2.0), I(-3))"
    for p, h, s in (("", "D", ""), ("f", "F", "f")):
        yield f"norm3d{p}({h}(1.0{s}), {h}(2.0{s}), {h}(2.0{s}))"
        yield f"norm4d{p}({h}(1.0{s}), {h}(2.0{s}), {h}(2.0{s}), {h}(4.0{s}))"
        yield f"rnorm3d{p}({h}(1.0{s}), {h}(2.0{s}), {h}(2.0{s}))"
        yield f"rnorm4d{p}({h}(1.0{s}), {h}(2.0{s}), {h}(2.0{s}), {h}(4.0{s}))"
        yield f"jn{p}(I(2), {h}(2.5{s}))"
        yield f"yn{p}(I(2), {h}(2.5{s}))"
        yield f"fma{p}({h}(2.0{s}), {h}(3.0{s}), {h}(0.5{s}))"
        yield f"ldexp{p}({h}(1.5{s}), I(4))"
        yield f"scalbn{p}({h}(1.5{s}), I(-4))"


def _lane_expressions():
    words = ("0x00000000u", "0x7f80ff01u", "0x80000001u", "0x12345678u", "0xfffefdfcu")
    names = """add addss addus sub subss subus absdiffs absdiffu avgs avgu haddu maxs maxu mins minu
        cmpeq cmpne cmpges cmpgts cmples cmplts cmpgeu cmpgtu cmpleu cmpltu seteq setne setges setgts
        setles setlts setgeu setgtu setleu setltu sads sadu""".split()
    for width in "24":
        for a in words:
            for name in ("abs", "absss", "neg", "negss"):
                yield f"__v{name}{width}(U({a}))"
            for b in words:
                for name in names:
                    yield f"__v{name}{width}(U({a}), U({b}))"
    for a, b, c in (("5", "-3", "7"), ("2147483647", "1", "0"), ("-5", "-6", "-7")):
        for f in ("imax3", "imin3", "iaddmax", "iaddmin"):
            yield f"__v{f}_s32(I({a}), I({b}), I({c}))"
            yield f"__v{f}_s32_relu(I({a}), I({b}), I({c}))"
            yield f"__v{f}_u32(U({a}u), U({b}u), U({c}u))"
        yield f"__vimax_s32_relu(I({a}), I({b}))"
        yield f"__vimin_s32_relu(I({a}), I({b}))"
    for f in ("imax3", "imin3", "iaddmax", "iaddmin"):
        for sign in "su":
            yield f"__v{f}_{sign}16x2(U(0x7f80ff01u), U(0x80000001u), U(0x12345678u))"


GROUPS = {
    "integers": list(dict.fromkeys(_integer_expressions())),
    "conversions": list(dict.fromkeys(_conversion_expressions())),
    "rounded": list(dict.fromkeys(_rounding_expressions())),
    "extremes": list(dict.fromkeys(_extreme_expressions())),
    "mathematics": list(dict.fromkeys(_math_expressions())),
    "lanes": list(dict.fromkeys(_lane_expressions())),
}

HEAD = r"""
#define I(x) ((int)(x) + zero)
#define U(x) ((unsigned)(x) + zero)
#define L(x) ((long long)(x) + zero)
#define UL(x) ((unsigned long long)(x) + zero)
#define F(x) hide((float)(x), one)
#define D(x) hide((double)(x), (double)one)
__device__ float hide(float x, float one) { return x * one; }
__device__ double hide(double x, double one) { return x * one; }
struct answer { unsigned long long type, bits; };
__device__ void put(answer* a, bool x) { a->type = 0; a->bits = x; }
__device__ void put(answer* a, int x) { a->type = 1; a->bits = (unsigned)x; }
__device__ void put(answer* a, unsigned x) { a->type = 2; a->bits = x; }
__device__ void put(answer* a, long x) { a->type = 3; a->bits = x; }
__device__ void put(answer* a, long long x) { a->type = 3; a->bits = x; }
__device__ void put(answer* a, unsigned long long x) { a->type = 4; a->bits = x; }
__device__ void put(answer* a, float x) { a->type = 5; a->bits = __float_as_uint(x); }
__device__ void put(answer* a, double x) { a->type = 6; a->bits = __double_as_longlong(x); }
__device__ void put(answer* a, signed char x) { put(a, (int)x); }
__device__ void put(answer* a, unsigned char x) { put(a, (int)x); }
__device__ void put(answer* a, short x) { put(a, (int)x); }
__device__ void put(answer* a, unsigned short x) { put(a, (int)x); }
"""


_CTYPES = {
    "I": "int",
    "U": "unsigned",
    "L": "long long",
    "UL": "unsigned long long",
    "F": "float",
    "D": "double",
}
_HIDDEN = re.compile(r"\b(UL|[IULFD])\(([-+.\w]+)\)")
_MANY = 10  # minimum number of expressions for a loop


def evaluation_source(expressions) -> str:
    """Returns a translation unit whose kernel `evaluate(answer*, int zero, float one)` evaluates
    all expressions.

    Expressions that differ only in constants become one loop over tables of the constants, because
    compilers need seconds for thousands of statements.
    """
    alike = {}
    for at, expression in enumerate(expressions):
        alike.setdefault(_expression_form(expression), []).append(at)
    bodies, rest = [], []
    for form, places in alike.items():
        if len(places) < _MANY:
            rest += [f"put(a + {at}, {expressions[at]});" for at in places]
        else:
            bodies.append(
                _evaluation_loop(form, places, [_HIDDEN.findall(expressions[at]) for at in places])
            )
    bodies += [rest[start : start + 100] for start in range(0, len(rest), 100)]
    head = "(answer* a, int zero, float one) {"
    parts = [
        "\n    ".join([f"__device__ __noinline__ void part{n}{head}", *body]) + "\n}"
        for n, body in enumerate(bodies)
    ]
    calls = [f"    part{n}(a, zero, one);" for n in range(len(bodies))]
    whole = [HEAD, *parts, f'extern "C" __global__ void evaluate{head}', *calls, "}", ""]
    return "\n".join(whole)


def _expression_form(expression):
    """Returns the expression with elements of the tables in place of its constants."""
    counted = itertools.count()
    return _HIDDEN.sub(lambda found: f"{found[1]}(x{next(counted)}[i])", expression)


def _evaluation_loop(form, places, constants):
    """Returns lines that store the expression's value for each row of [(kind, value), ...] at the row's
    index."""
    lines = [f"static const int at[] = {{{', '.join(map(str, places))}}};"]
    for n, column in enumerate(zip(*constants, strict=True)):
        ctype = _CTYPES[column[0][0]]
        given = ", ".join(f"({ctype})({value})" for _, value in column)
        lines.append(f"static const {ctype} x{n}[] = {{{given}}};")
    return [*lines, f"for (int i = 0; i < {len(places)}; i++) put(a + at[i], {form});"]


def main():
    import numpy as np

    from numbalite import cuda

    result = {}
    for name, expressions in GROUPS.items():
        answers = np.zeros((len(expressions), 2), np.uint64)
        kernel = cuda.jit(source=evaluation_source(expressions), name="evaluate")
        kernel[1, 1](answers.view(np.dtype([("type", "u8"), ("bits", "u8")]))[:, 0], 0, 1.0)
        result[name] = [f"{kind}:{bits:x}" for kind, bits in answers.tolist()]
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
