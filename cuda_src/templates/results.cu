/* A function whose parameters' types are those of what a call returns (numbalite/results.cuh). */
typedef nl_plain_of<decltype(${call})> nl_all;
extern "C" ${attribute} void nl_results(${pointers}) {}
