// destination[i] = source[mirror(i)] + factor * source[i], where mirror(i) is i mirrored in its workgroup.
// glslangValidator -V --quiet --target-env vulkan1.2 exchange.comp -o exchange.spv
#version 460
#extension GL_EXT_spirv_intrinsics : require

spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6142)
void arrive(int execution, int memory, int semantics);
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6143)
void wait(int execution, int memory, int semantics);

const int Workgroup = 2;
const int ReleaseWorkgroupMemory = 0x104;
const int AcquireWorkgroupMemory = 0x102;

layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer Source { uint source[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Destination { uint destination[]; };
layout(push_constant) uniform Constants { uint factor; };

shared uint tile[64];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint i = gl_GlobalInvocationID.x;
    uint value = source[i];

    tile[lane] = value;
    arrive(Workgroup, Workgroup, ReleaseWorkgroupMemory);
    uint own = factor * value; // nobody waits for this
    wait(Workgroup, Workgroup, AcquireWorkgroupMemory);
    destination[i] = tile[63 - lane] + own;
}
