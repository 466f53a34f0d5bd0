/* sim/new: defines the operators new and delete by the malloc and free of libc.h. */
#ifndef NUMBALITE_SIM_NEW_H
#define NUMBALITE_SIM_NEW_H

/* The operators are inline, so that only images that allocate memory contain them. */
#ifdef NUMBALITE_SIM_CLANG
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif
inline void *operator new(size_t size) {
    return malloc(size);
}
inline void *operator new[](size_t size) {
    return malloc(size);
}
inline void operator delete(void *block) noexcept {
    free(block);
}
inline void operator delete[](void *block) noexcept {
    free(block);
}
inline void operator delete(void *block, size_t) noexcept {
    free(block);
}
inline void operator delete[](void *block, size_t) noexcept {
    free(block);
}
#ifdef NUMBALITE_SIM_CLANG
#pragma clang diagnostic pop
#endif

/* Placement new, which NVRTC has without <new>; the macro prevents a second definition by libc++.
 * */
#define _LIBCPP___NEW_PLACEMENT_NEW_DELETE_H
inline void *operator new(size_t, void *place) noexcept {
    return place;
}
inline void *operator new[](size_t, void *place) noexcept {
    return place;
}
inline void operator delete(void *, void *) noexcept {}
inline void operator delete[](void *, void *) noexcept {}

#endif
