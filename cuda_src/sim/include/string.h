/* <string.h>: declares the small functions on memory and strings. */
#pragma once
extern "C" {
void *memmove(void *to, const void *from, size_t size) noexcept;
int memcmp(const void *a, const void *b, size_t size) noexcept;
size_t strlen(const char *text) noexcept;
int strcmp(const char *a, const char *b) noexcept;
int strncmp(const char *a, const char *b, size_t count) noexcept;
char *strcpy(char *to, const char *from) noexcept;
char *strncpy(char *to, const char *from, size_t count) noexcept;
void *memchr(const void *text, int sought, size_t size) noexcept;
}
