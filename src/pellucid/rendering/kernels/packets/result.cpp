// Over what was drawn before.

for (int q = 0; q < N; ++q) {
    if (x_of(q) >= columns || y_of(q) >= lines) continue;
    const long long pixel = (row + y_of(q)) * width + column + x_of(q);
    Q over;
    __builtin_memcpy(&over, view.scenery.data + pixel, sizeof(over));
    sums[q][3] = 1.0f - left[q];
    over = sums[q] + over * left[q];
    __builtin_memcpy(color.data + pixel, &over, sizeof(over));
    depth.data[pixel] = wp::min(reached[q], scenery_depth[q]);
    if (view.light.shape[0] > 0) view.light.data[pixel] = wp::vec3(shadows[q], skies[q], spent[q]);
}
