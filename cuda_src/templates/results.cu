/* Declares a function whose parameter types are the types of a call's results
 * (numbalite/results.cuh). */
typedef nl_plain_of<decltype(${call})> nl_all;
extern "C" ${attribute} void nl_results(${pointers}) {}
