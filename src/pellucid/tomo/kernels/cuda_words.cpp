// What CUDA brings along, for where it does not: so that a machine without a card can test a kernel of its.
#if !defined(__CUDA_ARCH__)
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
auto make_float2 = [](float x, float y) { return float2{x, y}; };
auto __ldg = [](auto* place) { return *place; };
auto __expf = [](float x) { return expf(x); };
auto fminf = [](float a, float b) { return a < b ? a : b; };
auto fmaxf = [](float a, float b) { return a > b ? a : b; };
auto fabsf = [](float a) { return a < 0.0f ? -a : a; };
auto fmaf = [](float a, float b, float c) { return a * b + c; };
auto floorf = [](float a) { return __builtin_floorf(a); };
auto min = [](int a, int b) { return a < b ? a : b; };
auto max = [](int a, int b) { return a > b ? a : b; };
auto abs = [](int a) { return a < 0 ? -a : a; };
#endif
