// Rays of some views through LANES slices at once, by Joseph's method: on every line of the slices that a ray crosses, it
// reads the two pixels that it passes between.
//
// In scope: images (line, place, lane) with a border of zeros (place 0 is one before the first pixel, and two are behind the
// last), rays (ray, by how many places a view's rays move from line to line, and from bin to bin), views (ray: which
// view that is), axis, group (of VIEWS rays), packed (view, bin, lane); LANES, VIEWS, LINES, BORDER.
// Lines are rows of the slices, or their columns where a view's rays run more along the rows.

typedef float F __attribute__((vector_size(4 * LANES)));
typedef float Stored __attribute__((vector_size(4 * LANES), aligned(4)));
typedef int I __attribute__((vector_size(4 * LANES)));

const long long bins = packed.shape[1], size = images.shape[0], wide = size + BORDER;
const long long first_ray = (long long)(group) * VIEWS;
const int count = rays.shape[0] - first_ray < VIEWS ? rays.shape[0] - first_ray : VIEWS;
const double half = 0.5 * (size - 1);
alignas(64) int place[LINES][LANES];
alignas(64) float weight[LINES][LANES];
F across;
for (int p = 0; p < LANES; ++p) across[p] = (float)(p);

for (int v = 0; v < count; ++v) {
    float* sums = packed.data + views.data[first_ray + v] * bins * LANES;
    for (long long i = 0; i < bins * LANES; ++i) sums[i] = 0.0f;
}

for (long long line = 0; line < size; line += LINES) {
    const int lines = size - line < LINES ? size - line : LINES;
    for (int v = 0; v < count; ++v) {
        const double per_line = rays.data[2 * (first_ray + v)], per_bin = rays.data[2 * (first_ray + v) + 1];
        const double start = half * (1 - per_line) - axis * per_bin + line * per_line;
        float* sums = packed.data + views.data[first_ray + v] * bins * LANES;

        // Only bins whose rays come past pixels of these lines.
        const double a = (-1 - start) / per_bin, b = (size - start) / per_bin, drift = (lines - 1) * per_line / per_bin;
        const double low = (a < b ? a : b) - (drift > 0 ? drift : 0), high = (a < b ? b : a) - (drift < 0 ? drift : 0);
        if (high < 0 || low > bins - 1) continue;
        const long long from = low < 0 ? 0 : (long long)(low), to = high > bins - 1 ? bins - 1 : (long long)(high);

        for (long long bin = from; bin <= to; bin += LANES) {
            const double at = start + bin * per_bin, whole = __builtin_floor(at);
            const float least = (float)(-1 - whole), most = (float)(size - whole);
            for (int l = 0; l < lines; ++l) {
                F here = (float)(at - whole + l * per_line) + across * (float)(per_bin);
                here = here < least ? F{} + least : here;
                here = here > most ? F{} + most : here;
                const F left = __builtin_elementwise_floor(here);
                *(I*)(place[l]) = __builtin_convertvector(left, I) * LANES;
                *(F*)(weight[l]) = here - left;
            }
            const float* near = images.data + (line * wide + 1 + (long long)(whole)) * LANES;
            const int some = to + 1 - bin < LANES ? to + 1 - bin : LANES;
            for (int p = 0; p < some; ++p) {
                Stored* sum = (Stored*)(sums + (bin + p) * LANES);
                F total = *sum;
                if (lines == LINES) {
#pragma clang loop unroll(full)
                    for (int l = 0; l < LINES; ++l) {
                        const Stored* pair = (const Stored*)(near + l * wide * LANES + place[l][p]);
                        const F one = pair[0];
                        total += one;
                        total += weight[l][p] * (pair[1] - one);
                    }
                } else {
                    for (int l = 0; l < lines; ++l) {
                        const Stored* pair = (const Stored*)(near + l * wide * LANES + place[l][p]);
                        total += pair[0] + weight[l][p] * (pair[1] - pair[0]);
                    }
                }
                *sum = total;
            }
        }
    }
}

// A ray's way from one line to the next is longer the more it leans.
for (int v = 0; v < count; ++v) {
    const double per_bin = rays.data[2 * (first_ray + v) + 1];
    const float length = (float)(per_bin < 0 ? -per_bin : per_bin);
    float* sums = packed.data + views.data[first_ray + v] * bins * LANES;
    for (long long i = 0; i < bins * LANES; ++i) sums[i] *= length;
}
