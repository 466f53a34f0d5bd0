/* cuda/std/__iterator/iterator_traits.h: removes libcu++'s use of the host's library. */
#pragma once
#pragma push_macro("__GLIBCXX__")
#pragma push_macro("_LIBCPP_VERSION")
#undef __GLIBCXX__
#undef _LIBCPP_VERSION
#include_next <cuda/std/__iterator/iterator_traits.h>
#pragma pop_macro("_LIBCPP_VERSION")
#pragma pop_macro("__GLIBCXX__")
