// One training step of a field of feature grids. It follows fields/neural/evaluation.cu in one module, and is tested
// against network.py and density.py.
//
// `step` draws points, reads the volume, encodes, decodes, and adds the gradient of every cell with four vector atomics a
// grid; nodes gather from their eight cells in `update_grids`. Activations go to memory once, and matrix products outside
// make the weights' gradients. VOXEL is the volume's type; AT_VOXELS draws voxel centres instead of any positions.

__device__ __forceinline__ unsigned pcg(unsigned x) {
  x = x*747796405u + 2891336453u; unsigned w = ((x >> ((x >> 28u) + 4u)) ^ x)*277803737u; return (w >> 22u) ^ w;
}
struct Volume { const VOXEL* voxels; int nx, ny, nz; float low, scale; };

__device__ __forceinline__ float at(const Volume& v, int i, int j, int k) { return (float)v.voxels[((long long)k*v.ny + j)*v.nx + i]; }

// A random point and its value. The same number and seed give the same point.
__device__ __forceinline__ float draw(const Volume& v, unsigned i, unsigned seed, float& x, float& y, float& z) {
  unsigned s = pcg(i*3u + seed*2654435761u), s2 = pcg(s), s3 = pcg(s2);
  const float unit = 1.f/4294967296.f;
#ifdef AT_VOXELS
  int p = min((int)(s*unit*v.nx), v.nx - 1), q = min((int)(s2*unit*v.ny), v.ny - 1), r = min((int)(s3*unit*v.nz), v.nz - 1);
  x = v.nx > 1 ? p*2.f/(v.nx - 1) - 1.f : 0.f; y = v.ny > 1 ? q*2.f/(v.ny - 1) - 1.f : 0.f; z = v.nz > 1 ? r*2.f/(v.nz - 1) - 1.f : 0.f;
  return (at(v, p, q, r) - v.low)*v.scale;
#else
  x = s*(2.f*unit) - 1.f; y = s2*(2.f*unit) - 1.f; z = s3*(2.f*unit) - 1.f;
  float a = (x*.5f + .5f)*(v.nx - 1), b = (y*.5f + .5f)*(v.ny - 1), c = (z*.5f + .5f)*(v.nz - 1);
  int p = max(min((int)a, v.nx - 2), 0), q = max(min((int)b, v.ny - 2), 0), r = max(min((int)c, v.nz - 2), 0);
  int p1 = min(p + 1, v.nx - 1), q1 = min(q + 1, v.ny - 1), r1 = min(r + 1, v.nz - 1); a -= p; b -= q; c -= r;
  float e0 = at(v,p,q,r)*(1-a) + a*at(v,p1,q,r), e1 = at(v,p,q1,r)*(1-a) + a*at(v,p1,q1,r);
  float e2 = at(v,p,q,r1)*(1-a) + a*at(v,p1,q,r1), e3 = at(v,p,q1,r1)*(1-a) + a*at(v,p1,q1,r1);
  float g0 = e0 + b*(e1 - e0), g1 = e2 + b*(e3 - e2);
  return (g0 + c*(g1 - g0) - v.low)*v.scale;
#endif
}

template <int WIDTH> __device__ __forceinline__ void export_row(__half* out, const __half* row) {
  uint4* d = (uint4*)out; const uint4* q = (const uint4*)row;
  #pragma unroll
  for (int k = 0; k < WIDTH/8; ++k) d[k] = q[k];
}

// rows of `grad` (32 x HIDDEN) times the transpose of weights (OUT x HIDDEN), into fragments.
template <int COLUMNS>
__device__ __forceinline__ void times_transpose(const __half* grad, const __half* weights, int r, int c, wmma::fragment<wmma::accumulator, 16, 16, 16, __half>& acc) {
  wmma::fill_fragment(acc, __float2half(0.f));
  #pragma unroll
  for (int k = 0; k < HIDDEN/16; ++k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
    wmma::load_matrix_sync(a, grad + r*16*ROW + k*16, ROW);
    wmma::load_matrix_sync(b, weights + c*16*HIDDEN + k*16, HIDDEN);
    wmma::mma_sync(acc, a, b, acc);
  }
}

extern "C" __global__ void step(const uint4* packed, const Grid* grids, const __half* w1, const __half* w2, const __half* w3,
    const VOXEL* voxels, int nx, int ny, int nz, float low, float vscale, const unsigned* seed_at,
    float* cell_gradients, __half* F_out, __half* H1_out, __half* H2_out, __half* D1_out, __half* D2_out,
    float* error_out, __half* dy_out, float* loss, int count, float scale) {
  extern __shared__ __align__(32) __half shared[];
  __half *W1 = shared, *W2 = W1 + INPUTS*HIDDEN, *W3 = W2 + HIDDEN*HIDDEN; Grid* G = (Grid*)(W3 + HIDDEN);
  __half* buffers = (__half*)(G + GRIDS);
  for (int i = threadIdx.x; i < INPUTS*HIDDEN; i += blockDim.x) W1[i] = w1[i];
  for (int i = threadIdx.x; i < HIDDEN*HIDDEN; i += blockDim.x) W2[i] = w2[i];
  for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) W3[i] = w3[i];
  for (int i = threadIdx.x; i < (int)(sizeof(Grid)/4)*GRIDS; i += blockDim.x) ((int*)G)[i] = ((const int*)grids)[i];
  __syncthreads();
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  __half* F = buffers + warp*32*(INPUT_ROW + 2*ROW); __half* H1 = F + 32*INPUT_ROW; __half* H2 = H1 + 32*ROW;
  Volume volume = {voxels, nx, ny, nz, low, vscale};
  unsigned seed = *seed_at; float sum = 0.f;
  for (int base = (blockIdx.x*WARPS + warp)*32; base < count; base += gridDim.x*WARPS*32) {
    int i = base + lane; float x, y, z;
    float truth = draw(volume, i, seed, x, y, z);
    __half2 f[GRIDS]; encode(packed, G, x, y, z, f);
    store_features(F, INPUT_ROW, f, lane);
    hidden_layer<INPUTS, INPUT_ROW>(F, W1, H1);
    hidden_layer<HIDDEN, ROW>(H1, W2, H2);
    float error = last_layer(H2 + lane*ROW, W3) - truth;
    sum += error*error; float dy = fminf(fmaxf(2.f*error*scale/count, -30000.f), 30000.f);
    error_out[i] = error; dy_out[i] = __float2half(dy);
    export_row<INPUTS>(F_out + (size_t)i*INPUTS, F + lane*INPUT_ROW);
    export_row<HIDDEN>(H1_out + (size_t)i*HIDDEN, H1 + lane*ROW);
    export_row<HIDDEN>(H2_out + (size_t)i*HIDDEN, H2 + lane*ROW);
    { __half2* h = (__half2*)(H2 + lane*ROW); const __half2* w = (const __half2*)W3; __half2 d = __float2half2_rn(dy), zero = __float2half2_rn(0.f);
      #pragma unroll
      for (int k = 0; k < HIDDEN/2; ++k) h[k] = __hmul2(__hmul2(d, w[k]), __hgt2(h[k], zero)); }
    export_row<HIDDEN>(D2_out + (size_t)i*HIDDEN, H2 + lane*ROW);
    __syncwarp();
    for (int r = 0; r < 2; ++r) for (int c = 0; c < 4; ++c) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, __half> acc, h;
      times_transpose<HIDDEN>(H2, W2, r, c, acc);
      wmma::load_matrix_sync(h, H1 + r*16*ROW + c*16, ROW, wmma::mem_row_major);
      for (int e = 0; e < h.num_elements; ++e) if (!(__half2float(h.x[e]) > 0.f)) acc.x[e] = __float2half(0.f);
      __syncwarp();
      wmma::store_matrix_sync(H1 + r*16*ROW + c*16, acc, ROW, wmma::mem_row_major);
    }
    __syncwarp();
    export_row<HIDDEN>(D1_out + (size_t)i*HIDDEN, H1 + lane*ROW);
    for (int r = 0; r < 2; ++r) for (int c = 0; c < INPUTS/16; ++c) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, __half> acc;
      times_transpose<INPUTS>(H1, W1, r, c, acc);
      wmma::store_matrix_sync(F + r*16*INPUT_ROW + c*16, acc, INPUT_ROW, wmma::mem_row_major);
    }
    __syncwarp();
    #pragma unroll 4
    for (int m = 0; m < GRIDS; ++m) {
      unsigned cell; float a, b, c;
      if (locate(G[m], x, y, z, cell, a, b, c)) {
        float2 g = __half22float2(((__half2*)(F + lane*INPUT_ROW))[m]);
        float* target = cell_gradients + (size_t)cell*16;
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
          float wz = (q >> 1) ? c : 1 - c, wy = (q & 1) ? b : 1 - b, first = wz*wy*(1 - a), second = wz*wy*a;
          asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1,%2,%3,%4};" :: "l"(target + 4*q),
            "f"(first*g.x), "f"(first*g.y), "f"(second*g.x), "f"(second*g.y) : "memory");
        }
      }
    }
    __syncwarp();
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, o);
  if (!lane) { atomicAdd(loss, sum); atomicAdd(loss + 1, sum); }  // of all steps, and of this one
}

struct Adam { float rate, first, second; };  // rate, and 1 - beta**step of both moments

__device__ __forceinline__ float adam(float& m, float& v, float g, const Adam& s) {
  m = .9f*m + .1f*g; v = .99f*v + .01f*g*g;
  return s.rate*(m/s.first)/(sqrtf(v/s.second) + 1e-15f);
}
__device__ __forceinline__ Adam at_step(float rate, unsigned step) {
  return {rate, 1.f - __powf(.9f, step + 1.f), 1.f - __powf(.99f, step + 1.f)};
}

// Nodes gather the gradients of their cells. steps: to which features are rounded, `share` of them by now, in the order of their ranks;
// those stay as they are. rate_weight: makes features cheaper to code.
extern "C" __global__ void update_grids(float2* nodes, float2* m1, float2* v1, const float2* cell_gradients, const Grid* grids,
    const float* rate, const unsigned* step, float inverse_scale, const float* steps, const float* share, const float* rate_weight,
    const float2* ranks) {
  const Grid& g = grids[blockIdx.y];
  int id = blockIdx.x*blockDim.x + threadIdx.x; if (id >= g.nx*g.ny*g.nz) return;
  int x = id % g.nx, y = id/g.nx % g.ny, z = id/(g.nx*g.ny); float2 d = make_float2(0, 0);
  #pragma unroll
  for (int q = 0; q < 8; ++q) {  // Node x is corner 0 of cell x + 1 and corner 1 of cell x: cells begin with the ring.
    int i = x + 1 - (q & 1), j = y + 1 - (q >> 1 & 1), k = z + 1 - (q >> 2);
    float2 h = cell_gradients[(g.first_cell + ((long long)k*(g.ny + 1) + j)*(g.nx + 1) + i)*8 + q]; d.x += h.x; d.y += h.y;
  }
  long long n = g.first_node + id; float2 w = nodes[n]; d.x *= inverse_scale; d.y *= inverse_scale;
  const float weight = *rate_weight, s = steps[blockIdx.y];
  if (weight > 0.f && s > 0.f) { d.x += weight*w.x/(s*s + w.x*w.x); d.y += weight*w.y/(s*s + w.y*w.y); }
  Adam state = at_step(*rate, *step); float2 a = m1[n], b = v1[n];
  const float limit = s > 0.f ? *share : 0.f; float2 kept = w, rank = limit > 0.f ? ranks[n] : w;
  w.x -= adam(a.x, b.x, d.x, state); w.y -= adam(a.y, b.y, d.y, state); m1[n] = a; v1[n] = b;
  if (limit >= 1.f || (limit > 0.f && rank.x < limit)) w.x = rintf(kept.x/s)*s;
  if (limit >= 1.f || (limit > 0.f && rank.y < limit)) w.y = rintf(kept.y/s)*s;
  nodes[n] = w;
}

// Cells from nodes.
extern "C" __global__ void pack(const float2* nodes, uint4* packed, const Grid* grids) {
  const Grid& g = grids[blockIdx.y];
  int id = blockIdx.x*blockDim.x + threadIdx.x; if (id >= g.cells) return;
  int x = id % (g.nx + 1), y = id/(g.nx + 1) % (g.ny + 1), z = id/((g.nx + 1)*(g.ny + 1));
  __half2 out[8];
  #pragma unroll
  for (int q = 0; q < 8; ++q) {
    int i = x - 1 + (q & 1), j = y - 1 + (q >> 1 & 1), k = z - 1 + (q >> 2); float2 w = make_float2(0, 0);
    if (i >= 0 && j >= 0 && k >= 0 && i < g.nx && j < g.ny && k < g.nz) w = nodes[g.first_node + ((long long)k*g.ny + j)*g.nx + i];
    out[q] = __floats2half2_rn(w.x, w.y);
  }
  uint4* d = packed + 2*(g.first_cell + id); d[0] = ((uint4*)out)[0]; d[1] = ((uint4*)out)[1];
}

extern "C" __global__ void update_weights(float* weights, float* m, float* v, const float* gradients, __half* halves, int count,
    const float* rate, const unsigned* step, float inverse_scale) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= count) return;
  float w = weights[i] - adam(m[i], v[i], gradients[i]*inverse_scale, at_step(*rate, *step)); weights[i] = w; halves[i] = __float2half(w);
}

// Feature density. sums: of density, of target density.
__device__ __forceinline__ float density_of(const Grid& g, float x, float y, float z, float* local) {
  const float* t = g.transform; float e = 0.f;
  #pragma unroll
  for (int d = 0; d < 3; ++d) { float l = t[4*d]*x + t[4*d+1]*y + t[4*d+2]*z + t[4*d+3]; local[d] = l; float l2 = l*l, l4 = l2*l2, l8 = l4*l4; e += l8*l8*l4; }
  float det = t[0]*(t[5]*t[10] - t[6]*t[9]) - t[1]*(t[4]*t[10] - t[6]*t[8]) + t[2]*(t[4]*t[9] - t[5]*t[8]);
  return det*0.06349363593f*__expf(-.5f*e);
}
__device__ __forceinline__ void point_of(int i, unsigned seed, int nx, int ny, int nz, float& x, float& y, float& z) {
  unsigned s = pcg(i*3u + seed*2654435761u), s2 = pcg(s), s3 = pcg(s2); const float unit = 1.f/4294967296.f;
#ifdef AT_VOXELS
  x = nx > 1 ? min((int)(s*unit*nx), nx - 1)*2.f/(nx - 1) - 1.f : 0.f; y = ny > 1 ? min((int)(s2*unit*ny), ny - 1)*2.f/(ny - 1) - 1.f : 0.f;
  z = nz > 1 ? min((int)(s3*unit*nz), nz - 1)*2.f/(nz - 1) - 1.f : 0.f;
#else
  x = s*(2.f*unit) - 1.f; y = s2*(2.f*unit) - 1.f; z = s3*(2.f*unit) - 1.f;
#endif
}
__device__ __forceinline__ void add_to(float* sum, float value) {
  for (int o = 16; o; o >>= 1) value += __shfl_xor_sync(0xffffffff, value, o);
  if (!(threadIdx.x & 31)) atomicAdd(sum, value);
}
extern "C" __global__ void density(const Grid* grids, int adaptive, const unsigned* seed_at, int nx, int ny, int nz, float* rho, float* sums, int count) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; float total = 0.f, local[3];
  if (i < count) {
    float x, y, z; point_of(i, *seed_at, nx, ny, nz, x, y, z);
    for (int m = 0; m < adaptive; ++m) total += density_of(grids[m], x, y, z, local);
    rho[i] = total;
  }
  add_to(sums, total);
}
extern "C" __global__ void target_density(const float* rho, const float* error, const float* loss, float* target, float* sums, int count) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; float value = 0.f;
  if (i < count) {
    float squared = error[i]*error[i], mean = loss[1]/count;
    value = __expf(__logf(rho[i]/sums[0] + 1e-16f)*mean/(squared + 1e-16f)); target[i] = value;
  }
  add_to(sums + 1, value);
}
// Gradient of the density loss for the transforms: 12 numbers a grid, and one for the determinant.
extern "C" __global__ void density_gradient(const Grid* grids, const unsigned* seed_at, int nx, int ny, int nz, const float* rho, const float* target,
    const float* sums, float* gradients, int count, int printed) {
  const Grid& g = grids[blockIdx.y]; float own[13] = {0};
  for (int i = blockIdx.x*blockDim.x + threadIdx.x; i < count; i += gridDim.x*blockDim.x) {
    float x, y, z, local[3]; point_of(i, *seed_at, nx, ny, nz, x, y, z);
    float p = rho[i]/sums[0], q = target[i]/sums[1];
    float slope = printed ? (__logf(p + 1e-16f) + 1.f - __logf(target[i] + 1e-16f))/sums[0] : -q/(rho[i] + 1e-16f*sums[0]);
    float part = slope*density_of(g, x, y, z, local); own[12] += part;
    #pragma unroll
    for (int d = 0; d < 3; ++d) {
      float l = local[d], l2 = l*l, l4 = l2*l2, l8 = l4*l4, push = -10.f*part*l8*l8*l2*l; own[4*d] += push*x; own[4*d+1] += push*y; own[4*d+2] += push*z; own[4*d+3] += push;
    }
  }
  #pragma unroll
  for (int k = 0; k < 13; ++k) add_to(gradients + blockIdx.y*13 + k, own[k]);
}
extern "C" __global__ void update_transforms(Grid* grids, float* m, float* v, const float* gradients, const float* rate, const unsigned* step, int adaptive) {
  int n = threadIdx.x; if (n >= adaptive || *rate <= 0.f) return;
  float* t = grids[n].transform; const float* d = gradients + n*13; Adam state = at_step(*rate, *step);
  float det = t[0]*(t[5]*t[10] - t[6]*t[9]) - t[1]*(t[4]*t[10] - t[6]*t[8]) + t[2]*(t[4]*t[9] - t[5]*t[8]); float cof[12] = {0};
  for (int r = 0; r < 3; ++r) for (int c = 0; c < 3; ++c) { int r1 = (r+1)%3, r2 = (r+2)%3, c1 = (c+1)%3, c2 = (c+2)%3; cof[4*r+c] = t[4*r1+c1]*t[4*r2+c2] - t[4*r1+c2]*t[4*r2+c1]; }
  float next[12];
  for (int k = 0; k < 12; ++k) { float g = d[k] + d[12]*cof[k]/det; next[k] = t[k] - adam(m[12*n + k], v[12*n + k], g, state); }
  for (int k = 0; k < 12; ++k) t[k] = next[k];
}
extern "C" __global__ void advance(unsigned* step, float* loss, float* sums, float* gradients, int count) {
  if (!threadIdx.x) { *step += 1; loss[1] = 0.f; sums[0] = sums[1] = 0.f; }
  for (int i = threadIdx.x; i < count; i += blockDim.x) gradients[i] = 0.f;
}
