"""Common mistakes: lines of C++ that compile but contain a typical mistake, each with a corrected twin.

A pair's texts are statements of a kernel with the parameters `x`, `out` (float32 arrays of one axis), `counts` (int32)
and `n` (an int); `i` is the index of the thread. `//!` marks the line with the warning, if there
are several lines.
"""

from __future__ import annotations

from typing import NamedTuple


class SlipPair(NamedTuple):
    name: str
    wrong: str
    right: str
    says: str
    """A part of the warning."""


PAIRS = [
    SlipPair("half", "out[i] = 1/2 * x[i];", "out[i] = 1.0f/2 * x[i];", "write 1.0f/2"),
    SlipPair("two_thirds", "out[i] = (2/3) * x[i];", "out[i] = x[i] * 2/3;", "which gives 0"),
    SlipPair("four_thirds", "out[i] = 4/3 * x[i];", "out[i] = 6/3 * x[i];", "which gives 1"),
    SlipPair("exponent", "out[i] = powf(x[i], 3/2);", "out[i] = powf(x[i], 3.0f/2);", "write 3.0f/2"),
    SlipPair("ratio", "float h = 7/2;\nout[i] = h;", "const int half = 7/2;\nout[i] = half;", "write 7.0f/2"),
    SlipPair("square", "counts[i] = i^2;", "counts[i] = i ^ 1;", "write i * i"),
    SlipPair("cube", "counts[i] = (i + 1) ^ 3;", "counts[i] = i ^ 0x3;", "write (i + 1) * (i + 1) * (i + 1)"),
    SlipPair("million", "counts[i] = 10^6;", "counts[i] = 10 & ~6;", "write 1e6"),
    SlipPair("power_of_two", "counts[i] = 2^i;", "counts[i] = i % 2 ^ 1;", "write 1 << i"),
    SlipPair("lanes", "counts[i] = i ^ 2;", "counts[i] = (i ^ 1) + (i ^ 2) + (i ^ 4);", "(or ^ 0x2 for the bits)"),
    SlipPair("empty_if", "if (i < 4);\n    out[i] = 1;", "if (i < 4)\n    out[i] = 1;", "remove the ;"),
    SlipPair("empty_for", "for (int k = 0; k < 4; ++k);\n    out[i] += 1;", "int k;\nfor (k = 0; k < n && x[k] > 0; ++k);\nout[i] = k;", "the ; ends the for"),
    SlipPair("empty_for_before_a_block", "int k;\nfor (k = 0; k < 4; ++k); { //!\n    out[i] += 1;\n}", "int k;\nfor (k = 0; k < 4; ++k) {\n    out[i] += 1;\n}", "the ; ends the for"),
    SlipPair("empty_while", "while (counts[i] > n); {\n    counts[i] -= n;\n}", "while (atomicAdd(&counts[0], 0) < n);\nout[i] = 1;", "the ; ends the while"),
    SlipPair("assigned", "if (i = 3) out[i] = 1;", "if (int k = n - 3) out[k] = 1;", "write i == 3"),
    SlipPair("assigned_element", "while (counts[i] = n) out[i] = 1;", "if ((counts[i] = n)) out[i] = 1;", "write counts[i] == n"),
    SlipPair("compared", "out[i] == x[i];", "out[i] = x[i];", "write out[i] = x[i]"),
    SlipPair("added", "out[i] + 1;", "out[i] += 1;", "write out[i] += 1"),
    SlipPair("multiplied", "out[i] * 2;", "out[i] *= 2;", "write out[i] *= 2"),
    SlipPair("chain", "if (0 < i < 5) out[i] = 1;", "if (0 < i && i < 5) out[i] = 1;", "write 0 < i && i < 5"),
    SlipPair("chain_down", "bool in = n > i >= 0;\nout[i] = in;", "bool in = static_cast<int>(n) > i;\nout[i] = in;", "write n > i && i >= 0"),
    SlipPair("unset", "float s;\nout[i] = s + x[i]; //!", "float s;\ns = 2;\nout[i] = s + x[i];", "s is read before it has a value"),
    SlipPair("unset_sum", "float s;\nfor (int k = 0; k < 4; ++k) s += x[k]; //!\nout[i] = s;", "float s = 0;\nfor (int k = 0; k < 4; ++k) s += x[k];\nout[i] = s;", "s is read before it has a value"),
    SlipPair("unset_counter", "int k;\nwhile (k < n) { //!\n    out[k] = 1;\n    ++k;\n}", "int k;\nfor (k = 0; k < n; ++k)\n    out[k] = 1;", "k is read before it has a value"),
    SlipPair("one_branch", "float s;\nif (x[i] > 0)\n    s = 1;\nout[i] = s; //!", "float s;\nif (x[i] > 0)\n    s = 1;\nelse\n    s = 2;\nout[i] = s;", "s has no value where"),
    SlipPair("one_branch_of_three", "float s;\nif (x[i] > 0) s = 1;\nelse if (x[i] < 0) s = 2;\nout[i] = s; //!", "float s;\nif (x[i] > 0) s = 1;\nif (x[i] > 0) out[i] = s;", "s has no value where"),
    SlipPair("negative", "out[i] = x[-1];", "const float *p = &x[1];\nout[i] = p[-1];", "is in front of x"),
    SlipPair("negative_call", "out(-2) = x[i];", "out(n - 2) = x[i];", "is in front of out"),
    SlipPair("negative_shared", "__shared__ float s[8];\nout[i] = s[-1]; //!", "__shared__ float s[8];\ns[i % 8] = 1;\nout[i] = s[8 - 1];", "is in front of s"),
    SlipPair("unsigned", "if (threadIdx.x - 1 >= 0) out[i] = 1;", "if ((int)threadIdx.x - 1 >= 0) out[i] = 1;", "never below 0"),
    SlipPair("unsigned_loop", "for (unsigned k = n; k >= 0; --k) out[k] = 1;", "for (int k = n; k >= 0; --k) out[k] = 1;", "never below 0"),
    SlipPair("shift", "counts[i] = 1 << 40;", "long long mask = 1LL << 40;\ncounts[i] = mask >> 38;", "write 1LL << 40"),
    SlipPair("overflow", "counts[i] = 65536 * 65536;", "long long area = 65536LL * 65536;\ncounts[i] = area >> 3;", "does not fit"),
    SlipPair("zero", "counts[i] = i / 0;", "out[i] = i / 0.0f;", "the divisor must not be 0"),
    SlipPair("remainder", "counts[i] = i % 0;", "counts[i] = i % 10;", "a remainder by 0"),
    SlipPair("printed", 'printf("%d\\n", x[i]);', 'printf("%d %f %x\\n", i, x[i], i);', "write %f"),
    SlipPair("printed_long", 'printf("%d\\n", x.size());', 'printf("%lld\\n", x.size());', "this conversion of printf is for int"),
    SlipPair("dangling", "if (i > 2)\n    if (i < 5)\n        out[i] = 1;\nelse //!\n    out[i] = 2;", "if (i > 2) {\n    if (i < 5)\n        out[i] = 1;\n}\nelse\n    out[i] = 2;", "belongs to the inner if"),
    SlipPair("dangling_on_one_line", "if (i > 2) if (i < 5) out[i] = 1; else out[i] = 2;", "if (i > 2)\n    if (i < 5)\n        out[i] = 1;\n    else\n        out[i] = 2;", "belongs to the inner if"),
    SlipPair("not", "if (!i == 3) out[i] = 1;", "bool odd = i % 2, even = i % 4;\nif (!odd == even) out[i] = 1;", "write i != 3"),
    SlipPair("or", "if (i == 3 || 4) out[i] = 1;", "if (i == 3 || i == 4) out[i] = 1;", "write i == 4"),
    SlipPair("and", "if (n && 2) out[i] = 1;", "if (n & 2) out[i] = 1;", "2 as a condition is true"),
    SlipPair("parts", "float h = 1/n;\nout[i] = h;", "int h = 100/n;\nout[i] = h;", "write 1.0f/n"),
    SlipPair("parts_of_a_block", "out[i] = 1/blockDim.x * x[i];", "out[i] = (float)i/blockDim.x * x[i];", "write 1.0f/blockDim.x"),
    SlipPair("parts_of_an_array", "out[i] = x[i] * (1/x.size());", "out[i] = x[i] / x.size();", "write 1.0f/x.size()"),
    SlipPair("mask", "if (i & 1 == 0) out[i] = 1;", "if ((i & 1) == 0) out[i] = 1;", "write (i & 1) == 0"),
    SlipPair("mask_not", "bool odd = i & 1 != 0;\nout[i] = odd;", "bool odd = (i & 1) != 0;\nconst float *p = &x[0];\nout[i] = odd ? *p : 0;", "write (i & 1) != 0"),
    SlipPair("alternatives", "if (i == 1 | 2) out[i] = 1;", "if (i == 1 | i == 2) out[i] = 1;", "write i == 1 || i == 2"),
    SlipPair("own_value", "float sum = 0;\nfor (int k = 0; k < 4; ++k) {\n    float sum = sum + x[k]; //!\n    out[k] = sum;\n}", "float sum = 0;\nfor (int k = 0; k < 4; ++k) {\n    sum = sum + x[k];\n    out[k] = sum;\n}", "read in its own value"),
    SlipPair("itself", "out[i] = out[i];", "out[i] = out[i + 1];", "changes nothing"),
    SlipPair("old_value", "counts[i] = counts[i]++;", "counts[i]++;", "keeps the old value"),
    SlipPair("reversed", "out[i] =+ 1;", "out[i] =-1;", "write out[i] += 1"),
    SlipPair("reversed_not", "if (counts[i] =! n) out[i] = 1;", "if (counts[i] = !n; counts[i]) out[i] = 1;", "write counts[i] != n"),
    SlipPair("decimal_comma", "out[i] = 3,14;", "out[i] = 3.14f;\nint a[2] = {3,14};\ncounts[i] = a[i % 2];", "write 3.14"),
    SlipPair("size", "for (int k = 0; k < (int)(sizeof(x) / sizeof(x[0])); ++k) out[k] = 1;", "float s[4] = {};\nfor (int k = 0; k < (int)(sizeof(s) / sizeof(s[0])); ++k) out[k] = s[k];", "write x.size()"),
    SlipPair("bounds", "float s[4] = {};\ns[4] = x[i]; //!\nout[i] = s[i % 4];", "float s[4] = {};\ns[3] = x[i];\nout[i] = s[i % 4];", "s has 4 elements"),
    SlipPair("step_of_another", "for (int k = 0; k < 3; ++i) out[k] = 1;", "for (int k = 0; k < 3; k += 2) out[k] = 1;", "never changes k"),
    SlipPair("step_away", "for (int k = 0; k < n; --k) out[k] = 1;", "for (unsigned k = n - 1; k < n; --k) out[k] = 1;", "leads away from k < n"),
    SlipPair("label", "switch (n) {\ncase 0: out[i] = 1; break;\ndefualt: out[i] = 2; //!\n}", "switch (n) {\ncase 0: out[i] = 1; break;\ndefault: out[i] = 2;\n}", "no goto jumps to defualt"),
    SlipPair("indented", "if (i > 2)\n    out[i] = 1;\n    counts[i] = 1; //!", "if (i > 2)\n    out[i] = 1;\ncounts[i] = 1;", "the if of line"),
    SlipPair("indented_loop", "for (int k = 0; k < n; ++k)\n    out[k] = 1;\n    counts[i] = 1; //!", "for (int k = 0; k < n; ++k) {\n    out[k] = 1;\n    counts[i] = 1;\n}", "the for of line"),
    SlipPair("same_condition", "if (i == 1) out[i] = 1;\nelse if (i == 1) out[i] = 2; //!", "if (i == 1) out[i] = 1;\nelse if (i == 2) out[i] = 2;", "never runs"),
    SlipPair("same_sides", "if (i > 2 && i > 2) out[i] = 1;", "if (i > 2 && i < 7) out[i] = 1;", "both sides of && are i > 2"),
    SlipPair("octal", "out[i] = x[010];", "out[i] = x[0] + x[07];", "means 8"),
    SlipPair("truncated", "int h = 0.5;\nout[i] = h * x[i];", "int h = 5e1;\nout[i] = h * x[i];", "keeps 0"),
    SlipPair("not_called", "__syncthreads; //!\nout[i] = 1;", "__syncthreads();\nout[i] = 1;", "is not called"),
    SlipPair("comma", "__shared__ float s[4][4];\nout[i] = *s[i, 1]; //!", "__shared__ float s[4][4];\nout[i] = s[i][min(n, 1)];", "write s[i][1]"),
    SlipPair("nan_eq", "if (x[i] == NAN) out[i] = 0;", "if (isnan(x[i])) out[i] = 0;", "write isnan(x[i])"),
    SlipPair("nan_ne", "out[i] = x[i] != NAN ? x[i] : 0;", "out[i] = x[i] == INFINITY ? 1 : 0;", "write !isnan(x[i])"),
    SlipPair("ignored_max", "max(out[i], 0.0f);", "out[i] = max(out[i], 0.0f);", "write out[i] = max("),
    SlipPair("ignored_sqrt", "sqrtf(x[i]);", "atomicAdd(&out[0], sqrtf(x[i]));", "the result of sqrtf"),
    SlipPair("pointer_step", "int *p = &counts[0];\n*p++; //!", "int *p = &counts[0];\n(*p)++;", "write (*p)++"),
    SlipPair("value", "x[i];", "(void)x[i];", "x[i] alone does nothing"),
    SlipPair("same_branches", "out[i] = x[i] > 0 ? x[i] : x[i];", "out[i] = x[i] > 0 ? x[i] : -x[i];", "both results of ?:"),
    SlipPair("same_branches_if", "if (x[i] > 0)\n    out[i] = 1;\nelse //!\n    out[i] = 1;", "if (x[i] > 0)\n    out[i] = 1;\nelse\n    out[i] = 2;", "does what the if does"),
    SlipPair("self_difference", "out[i] = x[i] - x[i];", "out[i] = x[i] - x[i + 1];", "both sides of -"),
    SlipPair("self_compare", "if (i == i) out[i] = 1;", "if (x[i] == x[i]) out[i] = 1;", "both sides of =="),
    SlipPair("never_range", "if (i > 5 && i < 3) out[i] = 1;", "if (i > 3 && i < 5) out[i] = 1;", "no value of i"),
    SlipPair("always_or", "if (i != 1 || i != 2) out[i] = 1;", "if (i != 1 && i != 2) out[i] = 1;", "each value of i"),
    SlipPair("float_step", "for (float t = 0; t != 1.0f; t += 0.1f) out[i] += t;", "for (float t = 0; t < 1.0f; t += 0.1f) out[i] += t;", "write t < 1.0f"),
    SlipPair("case_or", "switch (n) {\ncase 1 || 2: out[i] = 1; break; //!\n}", "switch (n) {\ncase 1 | 2: out[i] = 1; break;\n}", "write case 1: case 2:"),
    SlipPair("printf_few", 'printf("%d %d\\n", i);', 'printf("%d %d\\n", i, n);', "2 conversions, and 1 value"),
    SlipPair("printf_many", 'printf("value\\n", i);', 'printf("value %d\\n", i);', "0 conversions"),
    SlipPair("less_zero", "if (threadIdx.x < 0) out[i] = 1;", "if ((int)threadIdx.x - n < 0) out[i] = 1;", "never below 0"),
    SlipPair("unsigned_float", "float d = threadIdx.x - 5;\nout[i] = d;", "float d = (float)threadIdx.x - 5;\nout[i] = d;", "write (int)threadIdx.x"),
    SlipPair("unsigned_scaled", "out[i] = (threadIdx.x - 16) * 0.1f;", "out[i] = ((int)threadIdx.x - 16) * 0.1f;", "write (int)threadIdx.x"),
    SlipPair("unsigned_half", "float d = threadIdx.x - blockDim.x / 2;\nout[i] = d;", "float d = (int)threadIdx.x - (int)blockDim.x / 2;\nout[i] = d;", "write (int)threadIdx.x"),
    SlipPair("const_bound", "const int N = 10;\nfloat a[N] = {};\na[N] = 0; //!\nout[i] = a[i % N];", "const int N = 10;\nfloat a[N] = {};\na[N - 1] = 0;\nout[i] = a[i % N];", "a has N elements"),
    SlipPair("loop_bound", "float a[4];\nfor (int k = 0; k <= 4; ++k) a[k] = x[k]; //!\nout[i] = a[i % 4];", "float a[4];\nfor (int k = 0; k < 4; ++k) a[k] = x[k];\nout[i] = a[i % 4];", "write k < 4"),
    SlipPair("ternary", "out[i] = i + n % 2 ? 1 : 0;", "out[i] = i + (n % 2 ? 1 : 0);", "write i + (n % 2 ?"),
    SlipPair("equal_chain", "if (i == n == 3) out[i] = 1;", "if (i == n && n == 3) out[i] = 1;", "write i == n && n == 3"),
    SlipPair("not_less", "if (!i < 5) out[i] = 1;", "if (!(i < 5)) out[i] = 1;", "write i >= 5"),
    SlipPair("index_swapped", "int k = threadIdx.x * blockDim.x + blockIdx.x;\nout[k] = 1;", "int k = blockIdx.x * blockDim.x + threadIdx.x;\nout[k] = 1;", "write blockIdx.x * blockDim.x"),
    SlipPair("index_product", "int k = blockIdx.x * blockDim.x * threadIdx.x;\nout[k] = 1;", "int k = threadIdx.x * gridDim.x + blockIdx.x;\nout[k] = 1;", "write blockIdx.x * blockDim.x"),
    SlipPair("index_grid", "int k = blockIdx.x * gridDim.x + threadIdx.x;\nout[k] = 1;", "int k = blockIdx.y * gridDim.x + blockIdx.x;\nout[k] = 1;", "write blockIdx.x * blockDim.x"),
    SlipPair("index_sum", "int k = blockIdx.x + blockDim.x + threadIdx.x;\nout[k] = 1;", "int k = threadIdx.x * blockDim.x + threadIdx.y;\nout[k] = 1;", "write blockIdx.x * blockDim.x"),
    SlipPair("atomic_local", "float sum = 0;\natomicAdd(&sum, x[i]); //!\nout[i] = sum;", "__shared__ float sum;\natomicAdd(&sum, x[i]);\nout[i] = sum;", "write __shared__"),
    SlipPair("huge_int", "int k = 3000000000;\ncounts[i] = k;", "long long k = 3000000000;\ncounts[i] = k >> 3;", "write long long k"),
    SlipPair("other_condition", "for (int k = 0; k < n; ++k)\n    for (int j = 0; k < n; ++j) out[k] = j; //!", "for (int k = 0; k < n; ++k)\n    for (int j = 0; j < n; ++j) out[k] = j;", "write j < n"),
    SlipPair("assigned_ternary", "int k = n;\nout[i] = k = 3 ? 1 : 2; //!", "int k = n;\nout[i] = k == 3 ? 1 : 2;", "write k == 3"),
    SlipPair("assigned_not", "if (!(n = 3)) out[i] = 1;", "if (!(n == 3)) out[i] = 1;", "write n == 3"),
    SlipPair("array_condition", "__shared__ float s[4];\nif (s) out[i] = 1; //!", "__shared__ float s[4];\ns[i % 4] = 1;\nif (s[0]) out[i] = 1;", "write s[k]"),
    SlipPair("array_equal", "__shared__ float s[4];\n__shared__ float t[4];\nif (s == t) out[i] = 1; //!", "__shared__ float s[4], t[4];\ns[0] = t[0] = 1;\nif (s[0] == t[0]) out[i] = 1;", "their addresses"),
    SlipPair("bits_never", "if ((i & 1) == 2) out[i] = 1;", "if ((i & 2) == 2) out[i] = 1;", "write the mask 2"),
    SlipPair("bits_always", "if (i | 1) out[i] = 1;", "if (i & 1) out[i] = 1;", "write i & 1"),
    SlipPair("int_ratio", "float u = i / n;\nout[i] = u;", "int u = i / n;\nout[i] = u;", "write (float)i / n"),
    SlipPair("float_literal", "float v = x[i];\nif (v == 0.1) out[i] = 1; //!", "float v = x[i];\nif (v == 0.1f) out[i] = 1;", "write v == 0.1f"),
    SlipPair("memset_swapped", "float s[4] = {};\nmemset(s, sizeof(s), 0); //!\nout[i] = s[i % 4];", "float s[4];\nmemset(s, 0, sizeof(s));\nout[i] = s[i % 4];", "write memset(s, 0,"),
    SlipPair("memset_pointer", "float s[4];\nfloat *p = s;\nmemset(p, 0, sizeof(p)); //!\nout[i] = s[i % 4];", "float s[4];\nfloat *p = s;\nmemset(p, 0, sizeof(s));\nout[i] = s[i % 4] + p[0];", "size of a pointer"),
    SlipPair("memset_one", "int s[4];\nmemset(s, 1, sizeof(s)); //!\ncounts[i] = s[i % 4];", "int s[4];\nmemset(s, -1, sizeof(s));\ncounts[i] = s[i % 4];", "sets each byte"),
    SlipPair("int_sum", "int sum = 0;\nfor (int k = 0; k < n; ++k) sum += 0.5f; //!\nout[i] = sum;", "float sum = 0;\nfor (int k = 0; k < n; ++k) sum += 0.5f;\nout[i] = sum;", "drops the fraction"),
    SlipPair("inner_hidden", "float s = 0;\nif (n > 0) {\n    float s = x[i]; //!\n}\nout[i] = s;", "float s = 0;\nif (n > 0) { s = x[i]; }\nout[i] = s;", "without the type"),
    SlipPair("step_unused", "for (int k = n; k > 0; k >> 1) out[k] = 1;", "for (int k = n; k > 0; k >>= 1) out[k] = 1;", "write k >>= 1"),
    SlipPair("step_sum", "for (int k = 0; k < n; k + 2) out[k] = 1;", "for (int k = 0; k < n; k += 2) out[k] = 1;", "write k += 2"),
    SlipPair("comma_condition", "for (int k = 0, j = 0; k < n, j < 4; ++k, ++j) out[k] = j;", "for (int k = 0, j = 0; k < n && j < 4; ++k, ++j) out[k] = j;", "write k < n && j < 4"),
    SlipPair("comma_if", "if (i < n, n < 4) out[i] = 1;", "if (i < n && n < 4) out[i] = 1;", ", drops i < n"),
    SlipPair("small_variable", "for (unsigned char k = 0; k < 256; ++k) out[k] = 1;", "for (unsigned char k = 0; k < 255; ++k) out[k] = 1;", "holds numbers to 255"),
    SlipPair("equal_end", "for (int k = 0; k == n; ++k) out[k] = 1;", "for (int k = 0; k != n; ++k) out[k] = 1;", "write k < n"),
    SlipPair("never_changes", "int k = 0;\nwhile (k < n) { //!\n    out[k] = 1;\n}", "int k = 0;\nwhile (k < n) {\n    out[k] = 1;\n    k += 2;\n}", "changes k and n"),
    SlipPair("empty_else", "if (i > 2)\n    out[i] = 1;\nelse; //!\n    out[i] = 2;", "if (i > 2)\n    out[i] = 1;\nelse\n    out[i] = 2;", "ends the else"),
    SlipPair("before_case", "switch (n) {\n    out[i] = 0; //!\ncase 0: out[i] = 1; break;\n}", "out[i] = 0;\nswitch (n) {\ncase 0: out[i] = 1; break;\n}", "before the first case"),
    SlipPair("switch_truth", "switch (n > 2) {\ncase 0: out[i] = 1; break;\ncase 2: out[i] = 2; break; //!\n}", "switch (n > 2) {\ncase 0: out[i] = 1; break;\ncase 1: out[i] = 2; break;\n}", "is 0 or 1"),
    SlipPair("swap", "out[0] = out[1];\nout[1] = out[0]; //!", "float old = out[0];\nout[0] = out[1];\nout[1] = old;", "nothing is exchanged"),
    SlipPair("overwritten", "out[i] = x[i];\nout[i] = 2 * x[i + 1]; //!", "out[i] = x[i];\nout[i] = 2 * out[i];", "replaces the value of out[i]"),
    SlipPair("barrier", "if (threadIdx.x < 16) {\n    out[i] = 1;\n    __syncthreads(); //!\n}", "if (threadIdx.x < 16) {\n    out[i] = 1;\n}\n__syncthreads();", "reach this barrier"),
    SlipPair("stride", "for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += blockDim.x) out[k] = 1;", "for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += blockDim.x * gridDim.x) out[k] = 1;", "write k += blockDim.x * gridDim.x"),
    SlipPair("bool_complement", "bool odd = i % 2;\nif (~odd) out[i] = 1; //!", "bool odd = i % 2;\nif (!odd) out[i] = ~i;", "write !odd"),
    SlipPair("truth_number", "if ((i < n || n == 0) == 2) out[i] = 1;", "if ((i < n || n == 0) == 1) out[i] = 1;", "is 0 or 1"),
    SlipPair("not_bit", "if (!n & 1) out[i] = 1;", "if (!(n & 1)) out[i] = 1;", "write !(n & 1)"),
    SlipPair("not_mask", "counts[i] = counts[i] & !4;", "counts[i] = counts[i] & ~4;", "write ~4"),
    SlipPair("below_zero", "if (threadIdx.x > -1) out[i] = 1;", "if ((int)threadIdx.x > -1) out[i] = 1;", "(int)threadIdx.x > -1"),
    SlipPair("clamp_order", "out[i] = min(max(x[i], 1.0f), 0.0f);", "out[i] = min(max(x[i], 0.0f), 1.0f);", "exchange them"),
    SlipPair("assert_assigned", "assert(n = 4);\nout[i] = 1;", "assert(n == 4);\nout[i] = 1;", "write n == 4"),
    SlipPair("degrees", "out[i] = sinf(90);", "out[i] = sinf(0.5f * 3.14159f) + cosf(1);", "sinpi(90 / 180.0)"),
    SlipPair("atomic_old", "out[0] = atomicAdd(&out[0], x[i]);", "float old = atomicAdd(&out[0], x[i]);\nout[i + 1] = old;", "returns the old value"),
    SlipPair("atomic_fraction", "atomicAdd(&counts[0], 0.5f);", "atomicAdd(&out[0], 0.5f);", "becomes 0"),
    SlipPair("int_element", "counts[i] = 0.5f;", "counts[i] = 2.0f;\nout[i] = 0.5f;", "becomes 0"),
    SlipPair("second_index", "__shared__ float s[4][8];\ns[0][8] = x[i]; //!\nout[i] = s[0][0];", "__shared__ float s[4][8];\ns[3][7] = x[i];\nout[i] = s[3][7];", "ends at 7"),
    SlipPair("to_the_size", "for (int k = 0; k <= x.size(); ++k) out[i] += x[k];", "for (int k = 0; k < x.size(); ++k) out[i] += x[k];", "write k < x.size()"),
    SlipPair("past_the_size", "if (i > x.size()) return;\nout[i] = x[i];", "if (i >= x.size()) return;\nout[i] = x[i];", "write i >= x.size()"),
    SlipPair("tiny", "float tiny = 1e-50;\nout[i] = tiny;", "double tiny = 1e-50;\nout[i] = tiny > 0;", "float cannot hold"),
    SlipPair("twice", "int k = i;\ncounts[i] = k++ + k++; //!", "int k = i;\ncounts[i] = k++ + n;\ncounts[i] += k++;", "changes twice"),
    SlipPair("macro_square", "#define SQUARE(v) v * v\nout[i] = SQUARE(x[i] + 1); //!", "#define SQUARE2(v) ((v) * (v))\nout[i] = SQUARE2(x[i] + 1);", "without parentheses around x[i] + 1"),
    SlipPair("macro_sum", "#define EDGE 4 + 1\ncounts[i] = 2 * EDGE; //!", "#define EDGE2 (4 + 1)\ncounts[i] = 2 * EDGE2;", "4 + 1, without"),
    SlipPair("macro_end", "#define WIDTH 10;\ncounts[i] = WIDTH + n; //!", "#define WIDTH2 10\ncounts[i] = WIDTH2 + n;", "ends with ;"),
    SlipPair("shuffle", "__shfl_down_sync(~0u, i, 1);", "counts[i] = __shfl_down_sync(~0u, i, 1);", "v += __shfl_down_sync"),
    SlipPair("quotient_argument", "out[i] = expf(3/2) * x[i];", "out[i] = expf(3.0f/2) * x[i];", "write 3.0f/2"),
    SlipPair("step_old", "for (int k = 0; k < n; k = k++) out[k] = 1;", "for (int k = 0; k < n; k = k + 1) out[k] = 1;", "write k++"),
    SlipPair("address", "auto of = [](float v) {\n    float s[2] = {v, v};\n    return &s[0]; //!\n};\nout[i] = *of(x[i]);", "auto of = [](float v) {\n    float s[2] = {v, v};\n    return s[0];\n};\nout[i] = of(x[i]);", "ends with the function"),
]  # fmt: skip

SILENT = {
    "both": "if (i > 2 & i < n) out[i] = 1;",
    "either": "if (i == 1 | i == n) out[i] = 1;",
    "shift_of_a_sum": "counts[i] = 1 << i + 1;",
    "flag": "bool odd = i % 2;\nif (odd == true) out[i] = 1;",
    "equal": "if (x[i] == out[i]) counts[i] = 1;",
    "fall_through": "switch (n) {\ncase 0: out[i] = 1;\ncase 1: out[i] += 1; break;\n}",
    "all_bits": "unsigned k = -1;\ncounts[i] = k & 3;",
    "sign_bit": "counts[i] = 1 << 31;",
    "signedness": "if (i < threadIdx.x + blockDim.x) out[i] = 1;",
    "narrow": "char c = 200;\nshort s = i;\ncounts[i] = c + s;",
    "double": "out[i] = x[i] * 0.5;",
    "hidden": "for (int k = 0; k < n; ++k) {\n    int i = k;\n    out[i] = 1;\n}",
    "nan": "if (x[i] != x[i]) out[i] = 1 / 0.0f;",
    "other_axis": "int j = blockIdx.x * blockDim.x + threadIdx.y;\nout[j] = x[j + 1];",
    "set_in_a_loop": "float last;\nfor (int k = 0; k < n; ++k) last = x[k];\nout[i] = last;",
    "set_in_a_switch": "float s;\nswitch (n) {\ncase 0: s = 1; break;\ncase 1: s = 2; break;\n}\nout[i] = s;",
    "read_where_it_is_set": "float s;\nbool is_set = x[i] > 0;\nif (is_set) s = 1;\nif (is_set) out[i] = s;",
    "kept_from_the_round_before": "float before;\nfor (int k = 0; k < n; ++k) {\n    if (k > 0) out[k] = x[k] - before;\n    before = x[k];\n}",
    "length": "float s[7/2];\ns[i % 3] = 1;\nout[i] = s[n % 3] + 7/2;",
    "numbers": "counts[i] = 3/2 + n;",
    "set_by_a_call": "float s, c;\nsincosf(x[i], &s, &c);\nout[i] = s + c;",
    "blocks": "int many = (1024/n) * i;\ncounts[i] = many;",
    "spin": "while (atomicCAS(&counts[0], 0, 1) != 0);\natomicExch(&counts[0], 0);",
    "cast": "volatile int *p = &counts[0];\nif (*(volatile int *)&counts[i] == 0) *p = 1;",
    "templates": "out[i] = static_cast<float>(i) < n;",
    "one_more": "long long k = threadIdx.x - 5;\ncounts[i] = k >> 40;",
    "read_after_step": "int k = 0;\nout[k++] = x[k];",
    "negative_remainder": "out[i] = x[(i - 1) % n];",
    "product_before_it_widens": "long long k = i * 1000000000;\ncounts[i] = k >> 40;",
    "unconditional_break": "for (int k = 0; k < n; ++k) {\n    out[k] = 1;\n    break;\n}",
    "and_before_or": "if ((i == 1 && n == 2) || n == 3) out[i] = 1;\nif (i == 1 && n == 2 || n == 3) out[i] = 2;",
    "unreachable": "out[i] = 1;\nreturn;\ncounts[i] = 2;",
    "one_result": "counts[i] = i % 1;\nout[i] = x[i] * 0;",
    "barrier_in_a_branch": "if (n < 16) __syncthreads();\nout[i] = 1;",
    "truth": "bool k = 5;\ncounts[i] = k;",
    "no_rounds": "for (int k = 0; k < 0; ++k) out[k] = 1;",
    "own_quotient": "float half = n / 2;\nout[i] = half;",
    "macro": "#define BETWEEN __syncthreads();\nfloat *v = &out[0];\nBETWEEN v[n] = x[n];\nif (n < 7) v[n] = 2;",
    "tile": "__shared__ float s[1024];\ns[threadIdx.x * blockDim.x + threadIdx.y] = x[i];\nout[i] = s[threadIdx.x + blockDim.x * threadIdx.y];",
    "guarded": "if (threadIdx.x > 0) out[i] = 0.5f * (threadIdx.x - 1);",
    "not_a_number": "if (x[i] == x[i]) out[i] = x[i];",
    "both_ends": "if (x[i] > 0.5f && x[i] < 1.0f) out[i] = 1;",
    "keywords_of_operators": "if (i < n and x[i] < 1 or not (n > 3)) out[i] = 1;\ncounts[i] = (i xor 2) + (i bitand 3);",
    "cast_before_a_shift": "unsigned long long m = (unsigned long long)1 << 63;\ncounts[i] = m >> 60;",
    "other_cases_fail": "int s;\nif (n == 1) s = 1;\nelse if (n == 2) s = 2;\nelse assert(false);\ncounts[i] = s;",
    "other_cases_trap": "int s;\nif (n == 1) {\n    s = 1;\n} else {\n    __trap();\n}\ncounts[i] = s;",
    "indented_after_break": "while (n < 8) {\n    if (x[n] > 0)\n        break;\n        n *= 2;\n}\ncounts[i] = n;",
    "macro_without_semicolon": "#define STORE(v) out[i] = v;\nif (n > 1)\n    STORE(1)\n    counts[i] = 1;\n    counts[i] += 1;",
    "hidden_for_a_macro": "int k = 1;\n#define SHIFT(v) v <<= k;\nif (n > 1) {\n    int k = 2;\n    SHIFT(counts[i])\n}\nSHIFT(counts[i])",
    "equal_last_cases": "if (n == 1) {\n    out[i] = 1;\n} else if (n == 2) {\n    out[i] = 2;\n} else {\n    out[i] = 2;\n}",
    "equal_with_a_comment": "if (n == 1) {\n    // could be faster here\n    out[i] = 2;\n} else {\n    out[i] = 2;\n}",
    "dependent_constant": "out[i] = x[i] - x[i] + 0.999f;",
    "return_before_a_barrier": "if (i >= n) return;\n__syncthreads();\nout[i] = 1;",
    "row_as_float": "out[i] = (float)(i / n);",
    "halved": "counts[i] *= 0.5f;",
    "last_value": "float acc = 0;\nfor (int k = 0; k < n; ++k) acc = x[k];\nout[i] = acc;",
    "odd": "if (i % 2 == 1) out[i] = 1;",
    "rounded": "counts[i] = (int)(x[i] + 0.5f);",
    "wide_mask": "unsigned long long m = 1 << n;\ncounts[i] = m >> 3;",
    "last_index": "if (i > n) return;\nout[i] = 1;",
    "flag_of_another": "while (counts[0] == 0);\nout[i] = 1;",
    "two_statements": "#define SET_TWO(a, b) a = 1; b = 2;\nif (n > 1) { SET_TWO(out[i], counts[i]) }",
    "other_size": "int j = blockIdx.x * blockDim.y + threadIdx.y;\nout[j] = 1;",
    "same_index_twice": "int c = blockIdx.x * blockDim.x + threadIdx.x;\nint r = blockIdx.x * blockDim.x + threadIdx.x;\nout[r * n + c] = 1;",
    "changed_in_the_loop": "for (int k = 0; k < n; ++k) {\n    out[k] = 1;\n    ++k;\n}",
    "small_number_macro": "#define TINY 1e-4\nout[i] = 2 * TINY;",
    "exact_double": "float big = 16777217;\nout[i] = big;",
    "null_pointer": "float *p = nullptr;\nif (n > 99) p[i] = 1;",
    "negative_literal": "float low = -blockDim.x / 2.0f;\nout[i] = low;",
}  # fmt: skip
"""What looks like a slip and is often meant."""

KERNEL = """\
__global__ void slip_{name}(array<const float, 1> x, array<float, 1> out, array<int, 1> counts, int n) {{
int i = threadIdx.x;
{text}
}}
"""


def marked_source(texts: dict) -> tuple[str, dict]:
    """Returns a whole source with a kernel for each text, and for each kernel the line that `//!` marks, or
    its first line."""
    out, lines, number = "", {}, 1
    for name, text in texts.items():
        piece = KERNEL.format(name=name, text=text)
        rows = piece.split("\n")
        marked = [row for row, line in enumerate(rows) if line.endswith("//!")] or [2]
        lines[name] = number + marked[0]
        out += piece
        number += piece.count("\n")
    return out, lines


def source_of_slips() -> tuple[str, dict]:
    """Returns the source of the kernels with all mistakes of PAIRS."""
    return marked_source({pair.name: pair.wrong for pair in PAIRS})


def source_without_slips() -> str:
    """Returns the source of the corrected twins of PAIRS."""
    return marked_source({pair.name: pair.right for pair in PAIRS})[0]


def silent_source() -> str:
    """Returns the source of a frequent mistake."""
    return marked_source(SILENT)[0]
