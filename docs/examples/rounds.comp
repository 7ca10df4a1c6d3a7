#version 460
#extension GL_EXT_spirv_intrinsics : require

spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6142)
void arrive(int execution, int memory, int semantics);
spirv_instruction(extensions = ["SPV_EXT_split_barrier"], capabilities = [6141], id = 6143)
void wait(int execution, int memory, int semantics);

const int Workgroup = 2;
const int ReleaseWorkgroupMemory = 0x104;
const int AcquireWorkgroupMemory = 0x102;

layout(local_size_x = 128) in;
layout(set = 0, binding = 0, std430) readonly buffer Input { uint values[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Output { uint results[]; };

shared uint row[128];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint i = gl_GlobalInvocationID.x;
    uint own = values[i];

    row[lane] = own;                                        // the value that the neighbour reads
    arrive(Workgroup, Workgroup, ReleaseWorkgroupMemory);   // the value is stored
    for (int round = 0; round < 24; ++round) {              // work that no other invocation needs
        own ^= own << 13;
        own ^= own >> 17;
        own ^= own << 5;
    }
    wait(Workgroup, Workgroup, AcquireWorkgroupMemory);     // now the others have arrived
    results[i] = own + row[(lane + 1) % 128];
}
