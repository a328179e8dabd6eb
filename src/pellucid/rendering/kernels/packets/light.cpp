// How much light comes to a sample through the volume, as kernels/light_rays.py defines it: sixteen steps of a ray at once.

const auto& light_rays = layer.light_rays;
alignas(64) float shadows[N], skies[N], spent[N];  // by ray: what was found last, and how much it lit since
for (int q = 0; q < N; ++q) {
    shadows[q] = skies[q] = spent[q] = 1.0f;
    if (view.light.shape[0] == 0 || x_of(q) >= columns || y_of(q) >= lines) continue;
    const wp::vec3& light = view.light.data[(row + y_of(q)) * width + column + x_of(q)];
    shadows[q] = light[0], skies[q] = light[1], spent[q] = light[2];
}
auto passes = [&](const float* start, const float* way, float pace, float reach, const float* taken, float wanted)
    __attribute__((noinline)) -> float {
    float near = 0.0f, far = reach, behind[3];
    for (int i = 0; i < light_rays.cuts.shape[0]; ++i) {
        const wp::vec4& cut = light_rays.cuts.data[i];
        const float along = cut[0] * way[0] + cut[1] * way[1] + cut[2] * way[2];
        const float height = cut[3] - (cut[0] * start[0] + cut[1] * start[1] + cut[2] * start[2]);
        if (along < 1.0e-9f && along > -1.0e-9f) far = height > 0.0f ? -1.0f : far;
        else if (along > 0.0f) near = wp::max(near, height / along);
        else far = wp::min(far, height / along);
    }
    for (int a = 0; a < 3; ++a) {
        const bool is_parallel = way[a] < 1.0e-12f && way[a] > -1.0e-12f;
        behind[a] = is_parallel ? 0.0f : 1.0f / way[a];
        const float low = (layer.low[a] - start[a]) * behind[a], high = (layer.high[a] - start[a]) * behind[a];
        if (is_parallel) far = start[a] < layer.low[a] || start[a] > layer.high[a] ? -1.0f : far;
        else near = wp::max(near, wp::min(low, high)), far = wp::min(far, wp::max(low, high));
    }
    float light = 1.0f;
    const int final = (int)(__builtin_floorf(wp::min(far / pace - FIRST, 1.0e9f)));
    const int rows = light_rays.shadow_table.shape[0] - 1, nx = light_rays.vacancy.shape[2], ny = light_rays.vacancy.shape[1];
    for (int k = wp::max((int)(__builtin_ceilf(wp::min(near / pace - FIRST, 1.0e9f))), 0); k <= final && light > DARK;) {
        int cell[3];
        for (int a = 0; a < 3; ++a) {
            const float at = start[a] + way[a] * ((k + FIRST) * pace) + 0.5f;
            cell[a] = wp::min(wp::max((int)(at / EDGE), 0), (int)(light_rays.vacancy.shape[2 - a]) - 1);
        }
        const int vacant = light_rays.vacancy.data[(cell[2] * ny + cell[1]) * nx + cell[0]], around = wp::max(vacant - 1, 0);
        int next = final + 1;
#if !IN_BRICKS
        if (vacant)
#endif
        {
            float border = 1.0e9f;
            for (int a = 0; a < 3; ++a) {
                const float wall = (way[a] > 0.0f ? cell[a] + 1 + around : cell[a] - around) * EDGE - 0.5f;
                if (behind[a] != 0.0f) border = wp::min(border, (wall - start[a]) * behind[a]);
            }
            next = wp::min(wp::max(k + 1, (int)(__builtin_ceilf(border / pace - FIRST - 1.0e-3f))), final + 1);
        }
        if (vacant) {
            k = next;
            continue;
        }
#if IN_BRICKS
        enter(cell, wanted * light);
#endif
        const int count = wp::min(next - k, N);
        const F distance = (lane + (k + FIRST)) * pace;
        F in[3];
        for (int a = 0; a < 3; ++a) {
            in[a] = start[a] + way[a] * distance;
            if (IN_BRICKS) in[a] = in[a] * here.scale[a] + here.shift[a];
        }
        const F place = (value_at(in[0], in[1], in[2]) - light_rays.low) * light_rays.scale + 0.5f;
        const I row = whole(least(most(place, zero), (float)(rows)-zero));
        for (int n = 0; n < count && light > DARK; ++n) light *= 1.0f - taken[row[n]];
        k += count;
    }
    return light;
};
auto follow = [&](int q, const F* at, int n, float weight) __attribute__((noinline)) {
    const auto before = here;
    float to_eye[3], start[3];
    for (int a = 0; a < 3; ++a) to_eye[a] = -speeds[a][q] * layer.voxel, start[a] = at[a][n] + to_eye[a] * BEFORE;
    const float wanted = light_rays.asking * weight;
    if (layer.shading != OCCLUSION) {
        const float towards[3] = {light_rays.towards[0], light_rays.towards[1], light_rays.towards[2]};
        shadows[q] = passes(start, towards, 1.0f, NOTHING, light_rays.shadow_table.data, wanted);
    }
    if (layer.shading != SHADOW) {
        float sky = 0.0f;
        const float pace = light_rays.sky_step, reach = (SKY_STEPS + 1) * pace, *taken = light_rays.sky_table.data;
        const float open = passes(start, to_eye, pace, reach, taken, wanted);
        for (int i = 0; i < light_rays.around.shape[0]; ++i) {
            const wp::vec3& way = light_rays.around.data[i];
            const float towards[3] = {way[0], way[1], way[2]};
            sky += passes(start, towards, pace, reach, taken, wanted);
        }
        skies[q] = wp::min(OPEN_SKY * sky / (light_rays.around.shape[0] * wp::max(open, MIN_OPEN)), 1.0f);
    }
    spent[q] = 0.0f;
    here = before;
};
