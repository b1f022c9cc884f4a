// For each stream, a row z of the table: `words` words from one buffer to the other, each from a place of its own.
// Made into transfer.inc by glslangValidator -V -g0 --target-env vulkan1.1 -x -o transfer.inc transfer.comp
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Table { uvec4 rows[]; }; // from, to, words
layout(std430, binding = 1) readonly buffer From { uint from[]; };
layout(std430, binding = 2) writeonly buffer To { uint to[]; };
void main() {
    const uvec4 row = rows[gl_WorkGroupID.z];
    for (uint i = gl_GlobalInvocationID.x; i < row.z; i += gl_NumWorkGroups.x * 64) to[row.y + i] = from[row.x + i];
}
