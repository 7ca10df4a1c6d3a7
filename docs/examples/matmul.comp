#version 450
// C = A * B for square matrices: each workgroup computes a tile of 16 x 16 elements.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer MatrixA { float a[]; };
layout(set = 0, binding = 1) readonly buffer MatrixB { float b[]; };
layout(set = 0, binding = 2) writeonly buffer MatrixC { float c[]; };
layout(push_constant) uniform Size { uint size; };

shared float tile_a[16][16];
shared float tile_b[16][16];

void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    uvec2 lane = gl_LocalInvocationID.xy;
    float sum = 0.0;
    for (uint first = 0; first < size; first += 16) {
        tile_a[lane.y][lane.x] = a[at.y * size + first + lane.x];
        tile_b[lane.y][lane.x] = b[(first + lane.y) * size + at.x];
        barrier();
        for (uint k = 0; k < 16; ++k) {
            sum += tile_a[lane.y][k] * tile_b[k][lane.x];
        }
        barrier();
    }
    c[at.y * size + at.x] = sum;
}
