/* A kernel whose body is the user's. */
extern "C" __global__ void ${bounds}${kernel}(${parameters}) {
${lead}{
${user}} }
