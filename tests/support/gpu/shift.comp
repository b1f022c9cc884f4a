// y[g.x] = x[g.x] + g.z for workgroup g: seen by its number alone, as Halide's kernels see theirs
#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
void main() {
    const uvec3 group = gl_WorkGroupID;
    y[group.x] = x[group.x] + float(group.z);
}
