from numbalite.judge import task


@task(sizes=[1000, 1 << 20], launch=lambda a, b, out: (-(-out.size // 256), 256))
def vadd(a: "const float32[::1]", b: "const float32[::1]", out: "float32[::1]"):
    "The sum of two vectors."
    out[:] = a + b
