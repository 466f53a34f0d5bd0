/* random_init: the kernel that initializes an array with states 2^64 steps apart
 * (create_xoroshiro128p_states).
 *
 * State i is the state of the seed after start + i jumps of 2^64 steps. Jumps are linear over bits,
 * so 2^k jumps are one `xoroshiro128p_advance` with the polynomial x^(2^(64+k)) modulo the
 * generator's characteristic polynomial, `jumps[k]`. A thread computes RUN consecutive states: the
 * first by one advance for each bit of its index, each further state by one jump. */
#ifndef NUMBALITE_RANDOM_INIT_CUH
#define NUMBALITE_RANDOM_INIT_CUH

#include "numbalite/random.cuh"

namespace numbalite {
namespace nl_detail {

enum { RUN = 16 };

static __constant__ const uint64 jumps[64][2] = {
    {0xbeac0467eba5facbull, 0xd86b048b86aa9922ull}, {0x9c74e1ec81b738e3ull, 0x5c1e8b64735a759aull},
    {0x43f5a2866ee94ad5ull, 0xe2ae739d156bf073ull}, {0x22ba0d03e2847ffeull, 0xcda4db601d9b351eull},
    {0x049551ed863b5af2ull, 0x46d4be289a272b8eull}, {0x030083b6ced91bd9ull, 0x744b46e3c81ef816ull},
    {0x5692248c8bfbe5cbull, 0xf0092b585aec7455ull}, {0x36a241684293dc91ull, 0x9820a93b2334688eull},
    {0xcccfd85960258c75ull, 0xd40343d148b9a73cull}, {0xe0b8e64c67cda36cull, 0x604885cf1a502dc1ull},
    {0x06613bb41517815aull, 0x7c3c379b7760c7b2ull}, {0x532e5fbe399401e2ull, 0x6ff097b789ab954bull},
    {0x9183cae7615f4401ull, 0x72b44d34161f8f66ull}, {0x753ca9f03d0813acull, 0xf3fef2e1c669d3faull},
    {0x6c1c2228a741cc65ull, 0xdadbdf0b53e0655cull}, {0x9f7dfea760163a85ull, 0xa924dceba7eca3a1ull},
    {0x4dc4a0e7b85be058ull, 0x86b536afc98841e9ull}, {0x300670f3694d5f98ull, 0x8c716c5d088c17f7ull},
    {0xa337622cd896e62aull, 0x8f828a095c97c1d5ull}, {0x819d0c8851468602ull, 0x2a5450f370c26c00ull},
    {0x6cd504d521a829dbull, 0xdffda9e17564bafbull}, {0x865929dd0cf099f8ull, 0x32c6c72eece48af3ull},
    {0x515f0b2922ce1695ull, 0xc3a44c299a0921dfull}, {0x569943bff4992ce6ull, 0x94a6efd05f6b6749ull},
    {0xafb35eab3476bee5ull, 0x293416bf4c9d5cddull}, {0xafd9fd0d1157af85ull, 0xfd2dd84585efd63eull},
    {0xf716a9b88762474eull, 0xce0d2f61c04c6d6bull}, {0x0f902e5a31c4553eull, 0xa6d29a735f20608full},
    {0xea5069db9cf80080ull, 0x1a8a5ec7f21fe5c0ull}, {0xc65194821a5c84eeull, 0xb5ef80e7e2fe61efull},
    {0x86dac360270567bdull, 0xeb4a55ce38f4fa08ull}, {0x813808988bf6970eull, 0x0d9047a7c66a1c40ull},
    {0x18f7c399ccebda8dull, 0xf2deac28bef3bb07ull}, {0x3ca1ed1e42dce333ull, 0xe12a47d641175b6eull},
    {0x15fed830f0963680ull, 0xbafc62fc0290c4edull}, {0xc18f994000dc1287ull, 0x61261345c895d245ull},
    {0x3fd897ec6afd0b22ull, 0xb9c2d59735aa7e26ull}, {0xe899f639a24dce0full, 0x421b6d54059949dcull},
    {0x1612889dd81ee3f1ull, 0x9e5ac4eb43a87030ull}, {0x437c6d3bf3d8b36aull, 0xabab8fdf00def644ull},
    {0x40d75973e18e8408ull, 0x77d2c7d1914fee7dull}, {0x853e42a6f80a4fbfull, 0x14b0973dde3a777aull},
    {0xfbd71a376f8c8315ull, 0x719403394b2e13f5ull}, {0x2abfd3ef556648f3ull, 0xbd6dd0aa93c15322ull},
    {0xa15f259010ce855full, 0x9d96316a0e9076d6ull}, {0x4202f7289201be8cull, 0x048265b8ed33a8cfull},
    {0x0aa8aa10a0550fa3ull, 0x1b12c77bb59d4066ull}, {0x89b692a9f7c65b13ull, 0x70676bf12995fa13ull},
    {0x096e65369bb8ec1eull, 0x7933af6e440aaa3aull}, {0x5c654c9e9d0e3d6cull, 0x7c877f6425d86876ull},
    {0x2b0c83a8753ac4a2ull, 0x48adb2900ab7f418ull}, {0xc193679716ec2098ull, 0xa283286b8f81431full},
    {0x02b00b3edf2a3a12ull, 0xb57afc7537e0220aull}, {0x4a608f32d8d0cd9full, 0xdd1a46c3436ab55cull},
    {0x5991fcbb72206592ull, 0x91160f2eb06014a6ull}, {0x85d56e06f3da10acull, 0x802649e503a11b26ull},
    {0x62a5681423a34864ull, 0x548cef58c31a2a77ull}, {0x571859f2e2f2af84ull, 0xfb582241c2f5c600ull},
    {0x54ba6e9aea3c0c50ull, 0x1035a40d6ee3496dull}, {0xc30430d0a96426d6ull, 0xebbce74caf217827ull},
    {0x2d6140605c2290a6ull, 0xdb1bf3b8b700c5f7ull}, {0xb7298798965f3faeull, 0x73199db79cb40400ull},
    {0x79440bda7ffc59c3ull, 0x46efdc341e668c73ull}, {0x3bfcc5534423dadbull, 0x3452305ec44ed7bcull}};

} // namespace nl_detail
} // namespace numbalite

/* The grid must have at least n / 16 threads, rounded up, of any block size. */
extern "C" __global__ void nl_random_init(numbalite::xoroshiro128p_state *states, long long n,
                                          unsigned long long seed, unsigned long long start) {
    using namespace numbalite;
    int64 first = grid<1>() * nl_detail::RUN;
    if (first >= n)
        return;
    xoroshiro128p_state state;
    init_xoroshiro128p_state(state, seed);
    uint64 count = start + (uint64)first;
    for (int k = 0; count; ++k, count >>= 1) {
        if (count & 1)
            xoroshiro128p_advance(state, nl_detail::jumps[k][0], nl_detail::jumps[k][1]);
    }
    for (int k = 0; k < nl_detail::RUN && first + k < n; ++k) {
        states[first + k] = state;
        xoroshiro128p_jump(state);
    }
}

#endif
