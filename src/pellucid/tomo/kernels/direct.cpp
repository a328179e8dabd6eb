// A tile of a slice, for LANES slices at once: every vector holds the same place of LANES neighbouring slices, so that a
// position on the detector is computed once for all of them and no value has to be gathered.
//
// In scope: packed (packet, view, bin, lane), turns (view, cosine and sine, in double precision), axis (the detector
// column of the axis), radius (pixels further out stay 0), packet, top, left, image (slice, row, column); LANES, TILE,
// IS_TRANSPOSE. Bin 0 of a packed row is column -1 of the detector; it and the two behind the last column are 0.
//
// A pixel lies between two bins, which are interpolated. IS_TRANSPOSE: each has instead the weight that the pixel has in
// its ray (project.cpp): a triangle about the pixel whose half width is the larger one of cosine and sine, with an area of 1.

typedef float F __attribute__((vector_size(4 * LANES)));
typedef float Stored __attribute__((vector_size(4 * LANES), aligned(4)));  // NumPy promises no more
typedef int I __attribute__((vector_size(4 * LANES)));
constexpr int VIEWS = 8;  // that are added to a pixel while its sum is in a register

const long long views = packed.shape[1], bins = packed.shape[2], size = image.shape[1];
const long long slices = image.shape[0], first_slice = (long long)(packet) * LANES;
const int rows = size - top < TILE ? size - top : TILE, columns = size - left < TILE ? size - left : TILE;
const double half = 0.5 * (size - 1);
const double x_left = left - half, y_top = half - top;

// The nearest pixel of the tile decides whether any of it lies in the circle.
const double near_x = x_left > 0 ? x_left : (x_left + TILE - 1 < 0 ? x_left + TILE - 1 : 0);
const double near_y = y_top < 0 ? y_top : (y_top - TILE + 1 > 0 ? y_top - TILE + 1 : 0);
if (near_x * near_x + near_y * near_y > (double)(radius) * radius) return;

alignas(64) F sums[TILE * TILE] = {};
alignas(64) int bin[VIEWS][LANES];
alignas(64) float weight[VIEWS][LANES];
alignas(64) float other[VIEWS][LANES];  // of the bin on the left, where the two do not add up to 1
F across;
for (int p = 0; p < LANES; ++p) across[p] = (float)(p);

for (long long view = 0; view < views; view += VIEWS) {
    const int count = views - view < VIEWS ? views - view : VIEWS;
    const float* lines[VIEWS];
    float start[VIEWS], cosine[VIEWS], sine[VIEWS], low[VIEWS], high[VIEWS], steepness[VIEWS];
    for (int v = 0; v < count; ++v) {
        const double c = turns.data[2 * (view + v)], s = turns.data[2 * (view + v) + 1];
        const double place = x_left * c + y_top * s + axis;
        const double whole = __builtin_floor(place);
        start[v] = (float)(place - whole), cosine[v] = (float)(c), sine[v] = (float)(s);
        const double along = c < 0 ? -c : c, down = s < 0 ? -s : s;
        steepness[v] = (float)(1 / (along > down ? along : down));
        low[v] = (float)(-1 - whole), high[v] = (float)(bins - 3 - whole);
        lines[v] = packed.data + (((long long)(packet) * views + view + v) * bins + 1 + (long long)(whole)) * LANES;
    }
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; column += LANES) {
            for (int v = 0; v < count; ++v) {
                F place = start[v] + (across + (float)(column)) * cosine[v] - (float)(row) * sine[v];
                place = place < low[v] ? F{} + low[v] : place;
                place = place > high[v] ? F{} + high[v] : place;
                const F whole = __builtin_elementwise_floor(place);
                *(I*)(bin[v]) = __builtin_convertvector(whole, I) * LANES;
                *(F*)(weight[v]) = place - whole;
                if (IS_TRANSPOSE) {
                    const F left = steepness[v] * (1.0f - (place - whole) * steepness[v]);
                    const F right = steepness[v] * (1.0f - (1.0f - (place - whole)) * steepness[v]);
                    *(F*)(other[v]) = left > 0.0f ? left : F{};
                    *(F*)(weight[v]) = right > 0.0f ? right : F{};
                }
            }
            F* sum = sums + row * TILE + column;
            if (count == VIEWS) {
                for (int p = 0; p < LANES; ++p) {
                    F total = sum[p];
#pragma clang loop unroll(full)
                    for (int v = 0; v < VIEWS; ++v) {
                        const Stored* pair = (const Stored*)(lines[v] + bin[v][p]);
                        const F one = pair[0];
                        total += IS_TRANSPOSE ? other[v][p] * one : one;
                        total += weight[v][p] * (IS_TRANSPOSE ? pair[1] : pair[1] - one);
                    }
                    sum[p] = total;
                }
            } else {
                for (int p = 0; p < LANES; ++p)
                    for (int v = 0; v < count; ++v) {
                        const Stored* pair = (const Stored*)(lines[v] + bin[v][p]);
                        sum[p] += IS_TRANSPOSE ? other[v][p] * pair[0] : pair[0];
                        sum[p] += weight[v][p] * (IS_TRANSPOSE ? pair[1] : pair[1] - pair[0]);
                    }
            }
        }
}

const int used = slices - first_slice < LANES ? slices - first_slice : LANES;
for (int row = 0; row < rows; ++row)
    for (int lane = 0; lane < used; ++lane) {
        float* line = image.data + ((first_slice + lane) * size + top + row) * size + left;
        const double y = y_top - row;
        for (int column = 0; column < columns; ++column) {
            const double x = x_left + column;
            const bool is_inside = x * x + y * y <= (double)(radius) * radius;
            line[column] = is_inside ? ((const float*)(sums + row * TILE + column))[lane] : 0.0f;
        }
    }
