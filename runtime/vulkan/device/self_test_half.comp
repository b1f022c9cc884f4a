// float16 as kernels store it: rounded to nearest, ties to even.
#version 450
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 1) in;
layout(binding = 0) buffer Given { float given[]; };
layout(binding = 1) buffer Found { float16_t found[]; };
void main() {
    for (int i = 0; i < 6; ++i) found[i] = float16_t(given[16 + i]);
}
