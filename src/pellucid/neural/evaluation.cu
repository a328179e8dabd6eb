// Values of a field of feature grids, as training sees them.
//
// Compile it with GRIDS (how many grids of two features) and INPUTS (2 * GRIDS, rounded up to 16) defined.
//
// A cell of a grid is stored whole: eight corners of two half-precision features, 32 bytes, which is one sector of memory.
// Grids have a ring of zeros around them, so that cells at the border need no special case. A warp evaluates 32 points: the
// features go to shared memory, and tensor cores multiply them by the weights. Positions and transforms stay in float32.

#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define HIDDEN 64
#define ROW (HIDDEN + 8)
#define INPUT_ROW (INPUTS + 8)
#define WARPS 4

struct __align__(16) Grid { float transform[12]; int nx, ny, nz, cells; long long first_cell, first_node; };

// Where a point lies in a grid: its cell and the position inside it; a point outside lies in the ring, on a node of zeros.
// True inside. There is no branch, so that the loads of many grids are under way together.
__device__ __forceinline__ bool locate(const Grid& g, float x, float y, float z, unsigned& cell, float& a, float& b, float& c) {
  const float* t = g.transform;
  float u = fmaf(fmaf(t[0], x, fmaf(t[1], y, fmaf(t[2], z, t[3]))), 0.5f, 0.5f)*(g.nx - 1) + 1.f;
  float v = fmaf(fmaf(t[4], x, fmaf(t[5], y, fmaf(t[6], z, t[7]))), 0.5f, 0.5f)*(g.ny - 1) + 1.f;
  float w = fmaf(fmaf(t[8], x, fmaf(t[9], y, fmaf(t[10], z, t[11]))), 0.5f, 0.5f)*(g.nz - 1) + 1.f;
  float p = fminf(fmaxf(u, 0.f), g.nx + 1.f), q = fminf(fmaxf(v, 0.f), g.ny + 1.f), r = fminf(fmaxf(w, 0.f), g.nz + 1.f);
  int i = min((int)p, g.nx), j = min((int)q, g.ny), k = min((int)r, g.nz);
  a = p - i; b = q - j; c = r - k;
  cell = (unsigned)g.first_cell + (unsigned)((k*(g.ny + 1) + j)*(g.nx + 1) + i);
  return p == u && q == v && r == w;
}

__device__ __forceinline__ void encode(const uint4* __restrict__ packed, const Grid* grids, float x, float y, float z, __half2* out) {
  #pragma unroll
  for (int m = 0; m < GRIDS; ++m) {
    unsigned cell; float a, b, c;
    locate(grids[m], x, y, z, cell, a, b, c);
    uint4 lo = __ldg(packed + 2*(size_t)cell), hi = __ldg(packed + 2*(size_t)cell + 1);
    const __half2* p = (const __half2*)&lo; const __half2* q = (const __half2*)&hi;
    __half2 A = __float2half2_rn(a), B = __float2half2_rn(b), C = __float2half2_rn(c);
    __half2 e0 = __hfma2(A, __hsub2(p[1], p[0]), p[0]), e1 = __hfma2(A, __hsub2(p[3], p[2]), p[2]);
    __half2 e2 = __hfma2(A, __hsub2(q[1], q[0]), q[0]), e3 = __hfma2(A, __hsub2(q[3], q[2]), q[2]);
    __half2 g0 = __hfma2(B, __hsub2(e1, e0), e0), g1 = __hfma2(B, __hsub2(e3, e2), e2);
    out[m] = __hfma2(C, __hsub2(g1, g0), g0);
  }
}

// One hidden layer of 32 points: rows of `in` times weights, negative values set to zero.
template <int WIDTH, int IN_ROW>
__device__ __forceinline__ void hidden_layer(const __half* in, const __half* weights, __half* out) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> acc[2][4];
  #pragma unroll
  for (int r = 0; r < 2; ++r) for (int n = 0; n < 4; ++n) wmma::fill_fragment(acc[r][n], __float2half(0.f));
  #pragma unroll
  for (int k = 0; k < WIDTH/16; ++k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
    for (int r = 0; r < 2; ++r) wmma::load_matrix_sync(a[r], in + r*16*IN_ROW + k*16, IN_ROW);
    for (int n = 0; n < 4; ++n) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
      wmma::load_matrix_sync(b, weights + k*16*HIDDEN + n*16, HIDDEN);
      for (int r = 0; r < 2; ++r) wmma::mma_sync(acc[r][n], a[r], b, acc[r][n]);
    }
  }
  __syncwarp();
  #pragma unroll
  for (int r = 0; r < 2; ++r) for (int n = 0; n < 4; ++n) {
    for (int e = 0; e < acc[r][n].num_elements; ++e) acc[r][n].x[e] = __hmax(acc[r][n].x[e], __float2half(0.f));
    wmma::store_matrix_sync(out + r*16*ROW + n*16, acc[r][n], ROW, wmma::mem_row_major);
  }
  __syncwarp();
}

__device__ __forceinline__ void store_features(__half* rows, int row_length, const __half2* f, int lane) {
  __half2* row = (__half2*)(rows + lane*row_length);
  #pragma unroll
  for (int m = 0; m < GRIDS; ++m) row[m] = f[m];
  #pragma unroll
  for (int m = GRIDS; m < INPUTS/2; ++m) row[m] = __float2half2_rn(0.f);
  __syncwarp();
}

__device__ __forceinline__ float last_layer(const __half* row, const __half* weights) {
  const uint4* h = (const uint4*)row; const __half2* w = (const __half2*)weights;
  float sum = 0.f;
  #pragma unroll
  for (int n = 0; n < 8; ++n) {
    uint4 q = h[n]; const __half2* p = (const __half2*)&q;
    for (int e = 0; e < 4; ++e) { float2 g = __half22float2(p[e]), v = __half22float2(w[4*n + e]); sum += g.x*v.x + g.y*v.y; }
  }
  return sum;
}

// Values of a warp's 32 points. rows: shared memory of this warp, 32 * max(ROW, INPUT_ROW) halves.
__device__ __forceinline__ float decode(__half* rows, const __half* W1, const __half* W2, const __half* W3, const __half2* f, int lane) {
  store_features(rows, INPUT_ROW, f, lane);
  hidden_layer<INPUTS, INPUT_ROW>(rows, W1, rows);
  hidden_layer<HIDDEN, ROW>(rows, W2, rows);
  float value = last_layer(rows + lane*ROW, W3);
  __syncwarp();
  return value;
}

#define SHARED_ROWS (32 * (ROW > INPUT_ROW ? ROW : INPUT_ROW))
#define LOAD_MODEL \
  __shared__ __half W1[INPUTS*HIDDEN], W2[HIDDEN*HIDDEN], W3[HIDDEN]; __shared__ Grid G[GRIDS]; \
  __shared__ __align__(32) __half buffers[WARPS][SHARED_ROWS]; \
  for (int i = threadIdx.x; i < INPUTS*HIDDEN; i += blockDim.x) W1[i] = w1[i]; \
  for (int i = threadIdx.x; i < HIDDEN*HIDDEN; i += blockDim.x) W2[i] = w2[i]; \
  for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) W3[i] = w3[i]; \
  for (int i = threadIdx.x; i < (int)(sizeof(Grid)/4)*GRIDS; i += blockDim.x) ((int*)G)[i] = ((const int*)grids)[i]; \
  __syncthreads();

// Values on a lattice: positions first + index * step along each axis; out has axes (z, y, x).
extern "C" __global__ void values_on(const uint4* packed, const Grid* grids, const __half* w1, const __half* w2, const __half* w3,
    float x0, float y0, float z0, float dx, float dy, float dz, int nx, int ny, int nz, float* out, float low, float scale) {
  LOAD_MODEL
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  // A warp takes 8 x 4 points of one slice, whose cells lie together.
  int tiles_x = (nx + 7)/8, tiles_y = (ny + 3)/4; long long tiles = (long long)tiles_x*tiles_y*nz;
  for (long long tile = blockIdx.x*(long long)WARPS + warp; tile < tiles; tile += (long long)gridDim.x*WARPS) {
    int i = (int)(tile % tiles_x)*8 + (lane & 7), j = (int)(tile/tiles_x % tiles_y)*4 + (lane >> 3), k = (int)(tile/tiles_x/tiles_y);
    __half2 f[GRIDS]; encode(packed, G, x0 + i*dx, y0 + j*dy, z0 + k*dz, f);
    float value = decode(buffers[warp], W1, W2, W3, f, lane);
    if (i < nx && j < ny) out[((long long)k*ny + j)*nx + i] = low + scale*value;
  }
}
