// kernels.c's fir over a ring of 16, 4 rows a call, for many streams: as the compiler makes kernels of streams
#version 450
layout(local_size_x = 4) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Taps { float taps[]; };
layout(binding = 2) buffer Scalars { int scalars[]; };
layout(binding = 3) buffer Y { float y[]; };
layout(binding = 4) buffer Table { uint table[]; };
void main() {
    const uint row = gl_WorkGroupID.z * 5;
    const int r = int(gl_LocalInvocationID.x), ring = 16, position = scalars[table[row + 2]];
    float sum = 0;
    for (int k = 0; k < 9; ++k)
        sum += taps[table[row + 1] + k] * x[table[row] + (position + r - k + 2 * ring) % ring];
    y[table[row + 3] + r] = sum;
}
