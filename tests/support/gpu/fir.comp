// y[r] = sum over k of taps[k] * x[(position + r - k) mod ring]: kernels.c's fir, for the run of audio_model
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Taps { float taps[]; };
layout(binding = 2) buffer Scalars { int scalars[]; };
layout(binding = 3) buffer Y { float y[]; };
void main() {
    const int r = int(gl_GlobalInvocationID.x), ring = 72;
    float sum = 0;
    for (int k = 0; k < 9; ++k) sum += taps[k] * x[(scalars[0] + r - k + 2 * ring) % ring];
    y[r] = sum;
}
