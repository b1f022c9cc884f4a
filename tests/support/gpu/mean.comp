// mean[0] = the mean of the first `rows` of x: kernels.c's mean, for the run of audio_model
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 2) buffer Scalars { int scalars[]; };
layout(binding = 1) buffer Mean { float mean[]; };
void main() {
    float sum = 0;
    for (int r = 0; r < scalars[0]; ++r) sum += x[r];
    mean[0] = scalars[0] > 0 ? sum / float(scalars[0]) : 0;
}
