// memcpy and memset are built into NVRTC; this header defines the other small functions.
#pragma once

__device__ inline size_t strlen(const char *text)
{
    size_t length = 0;
    while (text[length]) ++length;
    return length;
}

__device__ inline int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b) ++a, ++b;
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
}

__device__ inline int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < size; ++i)
        if (x[i] != y[i]) return (int)x[i] - (int)y[i];
    return 0;
}

__device__ inline void *memmove(void *to, const void *from, size_t size)
{
    char *t = (char *)to;
    const char *f = (const char *)from;
    if (t < f)
        for (size_t i = 0; i < size; ++i) t[i] = f[i];
    else
        while (size--) t[size] = f[size];
    return to;
}
