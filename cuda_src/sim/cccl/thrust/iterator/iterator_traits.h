/* thrust/iterator/iterator_traits.h: clang++ looks up the system of an iterator while it
 * instantiates the iterator's iterator_traits, and would cache that there is no system. An iterator
 * that defines its category is used directly. */
#pragma once
#define iterator_system iterator_system_by_traits
#define iterator_system_t iterator_system_by_traits_t
#include_next <thrust/iterator/iterator_traits.h>
#undef iterator_system
#undef iterator_system_t

THRUST_NAMESPACE_BEGIN
namespace detail {
template <class Iterator, class = void> struct iterator_own_system : iterator_system_by_traits<Iterator> {};
template <class Iterator>
struct iterator_own_system<Iterator, ::cuda::std::void_t<typename Iterator::iterator_category>>
    : iterator_category_to_system<typename Iterator::iterator_category> {};
} // namespace detail
template <class Iterator> struct iterator_system : detail::iterator_own_system<Iterator> {};
template <class Iterator> using iterator_system_t = typename iterator_system<Iterator>::type;
THRUST_NAMESPACE_END
