// Copies one buffer to another, in quarters: each thread has four loads of 16 bytes in flight.
// Made into copy.inc by glslangValidator -V -g0 --target-env vulkan1.1 -x -o copy.inc copy.comp
#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer From { uvec4 from[]; };
layout(std430, binding = 1) writeonly buffer To { uvec4 to[]; };
void main() {
    const uint a = to.length() / 4, b = a + a, c = b + a;
    for (uint i = gl_GlobalInvocationID.x; i < a; i += gl_NumWorkGroups.x * 256) {
        const uvec4 first = from[i], second = from[i + a], third = from[i + b], fourth = from[i + c];
        to[i] = first;
        to[i + a] = second;
        to[i + b] = third;
        to[i + c] = fourth;
    }
}
