//! Small kernels for the rows of a table: exchanges through workgroup memory, and copies of groups.

use crate::support::assembled;
use anyhow::Result;
use std::fmt::Write;

/// The split barrier, ordering workgroup memory.
pub(crate) const ARRIVE: &str = "OpControlBarrierArriveINTEL %workgroup %workgroup %release";
/// See [`ARRIVE`].
pub(crate) const WAIT: &str = "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire";

/// The split barrier, ordering all memory.
pub(crate) const ARRIVE_ALL: &str =
    "OpControlBarrierArriveINTEL %workgroup %workgroup %release_all";
/// See [`ARRIVE_ALL`].
pub(crate) const WAIT_ALL: &str = "OpControlBarrierWaitINTEL %workgroup %workgroup %acquire_all";

/// The full barrier.
pub(crate) const FULL: &str = "OpControlBarrier %workgroup %workgroup %both";

/// Work of the window: a load of global memory, whose result is used after the wait.
pub(crate) const LOAD: &str = "%v = OpLoad %uint %at";
/// Work of the window: arithmetic.
pub(crate) const MULTIPLY: &str = "%v = OpIMul %uint %i %i";

/// An exchange between neighbours in a workgroup of `invocations`: a store to workgroup memory,
/// `arrive`, `work`, `wait`, and a load of another invocation's value.
pub(crate) fn exchange(invocations: u32, arrive: &str, work: &str, wait: &str) -> Result<Vec<u8>> {
    exchange_in(invocations, invocations, arrive, work, wait)
}

/// As [`exchange`], with so many words of workgroup memory.
pub(crate) fn exchange_in(
    words: u32,
    invocations: u32,
    arrive: &str,
    work: &str,
    wait: &str,
) -> Result<Vec<u8>> {
    assembled(&format!(
        "OpCapability Shader
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %buffer %index
OpExecutionMode %main LocalSize {invocations} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %array ArrayStride 4
OpDecorate %block Block
OpMemberDecorate %block 0 Offset 0
OpDecorate %buffer DescriptorSet 0
OpDecorate %buffer Binding 0
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%length = OpConstant %uint {words}
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%both = OpConstant %uint 0x108
%release_all = OpConstant %uint 0x144
%acquire_all = OpConstant %uint 0x142
%array = OpTypeRuntimeArray %uint
%block = OpTypeStruct %array
%cells = OpTypeArray %uint %length
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pcells = OpTypePointer Workgroup %cells
%pcell = OpTypePointer Workgroup %uint
%pin = OpTypePointer Input %uint
%buffer = OpVariable %pblock StorageBuffer
%tile = OpVariable %pcells Workgroup
%index = OpVariable %pin Input
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%mine = OpAccessChain %pcell %tile %i
%at = OpAccessChain %puint %buffer %zero %i
OpStore %mine %i
{arrive}
{work}
{wait}
%j = OpBitwiseXor %uint %i %one
%its = OpAccessChain %pcell %tile %j
%x = OpLoad %uint %its
%sum = OpIAdd %uint %v %x
OpStore %at %sum
OpReturn
OpFunctionEnd
"
    ))
}

/// Invocations of the kernels that copy.
const INVOCATIONS: u32 = 256;

/// A workgroup copies 256 elements of so many bytes to workgroup memory, waits, and writes them to
/// a buffer.
pub(crate) fn copy_in(bytes: u32) -> Result<Vec<u8>> {
    copies(
        bytes,
        1,
        "%e = OpGroupAsyncCopy %event %workgroup %tile0 %in %count %step %none
OpStore %list %e
OpGroupWaitEvents %workgroup %one %list
%x = OpLoad %element %its
OpStore %end %x",
    )
}

/// A workgroup writes workgroup memory, synchronises, and copies it to global memory.
pub(crate) fn copy_out(bytes: u32) -> Result<Vec<u8>> {
    copies(
        bytes,
        1,
        "%x = OpLoad %element %start
OpStore %mine %x
OpControlBarrier %workgroup %workgroup %both
%e = OpGroupAsyncCopy %event %workgroup %out %tile0 %count %step %none
OpStore %list %e
OpGroupWaitEvents %workgroup %one %list",
    )
}

/// Groups of two, three and one copies are begun and then waited for one after the other.
pub(crate) fn three_groups() -> Result<Vec<u8>> {
    let mut body = String::new();
    let mut copy = 0;
    for (group, size) in [2, 3, 1].into_iter().enumerate() {
        for of_group in 0..size {
            let before = match of_group {
                0 => "%none".to_owned(),
                _ => format!("%e{}", copy - 1),
            };
            let _ = writeln!(
                body,
                "%e{copy} = OpGroupAsyncCopy %event %workgroup %tile{copy} %in{copy} %count %step {before}"
            );
            copy += 1;
        }
        let _ = writeln!(body, "%last{group} = OpCopyObject %event %e{}", copy - 1);
    }
    for group in 0..3 {
        let _ = writeln!(
            body,
            "OpStore %list %last{group}\nOpGroupWaitEvents %workgroup %one %list"
        );
    }
    body += "%x = OpLoad %element %its\nOpStore %end %x";
    copies(4, copy, &body)
}

/// Two copies, and between them a load and a store of global memory without a wait; then a wait for
/// the first copy.
pub(crate) fn mixed() -> Result<Vec<u8>> {
    copies(
        4,
        2,
        "%e0 = OpGroupAsyncCopy %event %workgroup %tile0 %in0 %count %step %none
%y = OpLoad %element %start
OpStore %beside %count32
%e1 = OpGroupAsyncCopy %event %workgroup %tile1 %in1 %count %step %none
OpStore %list %e0
OpGroupWaitEvents %workgroup %one %list
%x = OpLoad %element %its
%sum = OpIAdd %element %x %y
OpStore %end %sum",
    )
}

/// `tiles` pieces of 256 elements, at `%tile0` and on, and in global memory at `%in0` and on;
/// `%list` holds an event.
fn copies(bytes: u32, tiles: u32, body: &str) -> Result<Vec<u8>> {
    let element = match bytes {
        1 => "OpTypeInt 8 0",
        2 => "OpTypeInt 16 0",
        8 => "OpTypeVector %uint 2",
        16 => "OpTypeVector %uint 4",
        _ => "",
    };
    // Four bytes are the type that is there already.
    let (declaration, body) = if element.is_empty() {
        (String::new(), body.replace("%element", "%uint"))
    } else {
        (format!("%element = {element}\n"), body.to_owned())
    };
    let name = if element.is_empty() {
        "%uint"
    } else {
        "%element"
    };
    let (mut offsets, mut places) = (String::new(), String::new());
    for tile in 0..tiles {
        let _ = writeln!(
            offsets,
            "%at{tile} = OpConstant %ulong {}",
            tile * INVOCATIONS
        );
        let _ = writeln!(
            places,
            "%tile{tile} = OpInBoundsAccessChain %plocal %tile %at{tile}\n%in{tile} = OpInBoundsPtrAccessChain %pglobal %in %at{tile}"
        );
    }
    assembled(&format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpCapability Int16
OpCapability Int8
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index
OpExecutionMode %main LocalSize {INVOCATIONS} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
{declaration}%length = OpConstant %uint {}
%count32 = OpConstant %uint {INVOCATIONS}
%one = OpConstant %uint 1
%workgroup = OpConstant %uint 2
%both = OpConstant %uint 0x108
%count = OpConstant %ulong {INVOCATIONS}
%step = OpConstant %ulong 1
{offsets}%array = OpTypeArray {name} %length
%ptile = OpTypePointer Workgroup %array
%plocal = OpTypePointer Workgroup {name}
%pglobal = OpTypePointer CrossWorkgroup {name}
%pinput = OpTypePointer Input %ulong
%event = OpTypeEvent
%pevent = OpTypePointer Function %event
%none = OpConstantNull %event
%fn = OpTypeFunction %void %pglobal %pglobal %pglobal
%index = OpVariable %pinput Input
%tile = OpVariable %ptile Workgroup
%main = OpFunction %void None %fn
%in = OpFunctionParameter %pglobal
%out = OpFunctionParameter %pglobal
%more = OpFunctionParameter %pglobal
%entry = OpLabel
%list = OpVariable %pevent Function
%i = OpLoad %ulong %index
%j = OpBitwiseXor %ulong %i %step
%mine = OpInBoundsAccessChain %plocal %tile %i
%its = OpInBoundsAccessChain %plocal %tile %j
%start = OpInBoundsPtrAccessChain %pglobal %in %i
%end = OpInBoundsPtrAccessChain %pglobal %out %i
%beside = OpInBoundsPtrAccessChain %pglobal %more %i
{places}{body}
OpReturn
OpFunctionEnd
",
        tiles * INVOCATIONS
    ))
}

/// A shader fills two tiles, the second from vectors that are aligned to only 4 bytes, which no
/// instruction copies: it is stored. On one path the code waits for the first before the second, so
/// each has a mark.
pub(crate) fn beside_a_store() -> Result<Vec<u8>> {
    assembled(
        "OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main \"main\" %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %in NonWritable
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
OpDecorate %vectors ArrayStride 16
OpDecorate %uints ArrayStride 4
OpDecorate %from Block
OpMemberDecorate %from 0 Offset 0
OpMemberDecorate %from 1 Offset 1024
OpMemberDecorate %from 2 Offset 1028
OpDecorate %to Block
OpMemberDecorate %to 0 Offset 0
OpMemberDecorate %to 1 Offset 4096
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%vector = OpTypeVector %uint 4
%fn = OpTypeFunction %void
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%two = OpConstant %uint 2
%count = OpConstant %uint 256
%both = OpConstant %uint 0x108
%uints = OpTypeArray %uint %count
%vectors = OpTypeArray %vector %count
%a_tile = OpTypeArray %uint %count
%b_tile = OpTypeArray %vector %count
%from = OpTypeStruct %uints %uint %vectors
%to = OpTypeStruct %vectors %uints
%pfrom = OpTypePointer StorageBuffer %from
%pto = OpTypePointer StorageBuffer %to
%puint = OpTypePointer StorageBuffer %uint
%pvector = OpTypePointer StorageBuffer %vector
%pa = OpTypePointer Workgroup %a_tile
%pb = OpTypePointer Workgroup %b_tile
%pauint = OpTypePointer Workgroup %uint
%pbvector = OpTypePointer Workgroup %vector
%pinput = OpTypePointer Input %uint
%in = OpVariable %pfrom StorageBuffer
%out = OpVariable %pto StorageBuffer
%a = OpVariable %pa Workgroup
%b = OpVariable %pb Workgroup
%index = OpVariable %pinput Input
%main = OpFunction %void None %fn
%entry = OpLabel
%i = OpLoad %uint %index
%j = OpBitwiseXor %uint %i %one
%from_a = OpAccessChain %puint %in %zero %i
%from_b = OpAccessChain %pvector %in %two %i
%my_a = OpAccessChain %pauint %a %i
%my_b = OpAccessChain %pbvector %b %i
%its_a = OpAccessChain %pauint %a %j
%its_b = OpAccessChain %pbvector %b %j
%choice = OpAccessChain %puint %in %one
%note = OpAccessChain %puint %out %one %i
%end = OpAccessChain %pvector %out %zero %i
%x = OpLoad %uint %from_a
OpStore %my_a %x
%y = OpLoad %vector %from_b
OpStore %my_b %y
%c = OpLoad %uint %choice
%first = OpIEqual %bool %c %zero
OpSelectionMerge %then None
OpBranchConditional %first %early %then
%early = OpLabel
OpControlBarrier %two %two %both
%r = OpLoad %uint %its_a
OpStore %note %r
OpBranch %then
%then = OpLabel
OpControlBarrier %two %two %both
%p = OpLoad %uint %its_a
%q = OpLoad %vector %its_b
%ps = OpCompositeConstruct %vector %p %p %p %p
%sum = OpIAdd %vector %ps %q
OpStore %end %sum
OpReturn
OpFunctionEnd
",
    )
}

/// A split barrier in a kernel without a declared workgroup size.
pub(crate) fn open_size() -> Result<Vec<u8>> {
    assembled(
        "OpCapability Addresses
OpCapability Kernel
OpCapability SplitBarrierINTEL
OpExtension \"SPV_INTEL_split_barrier\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\"
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%workgroup = OpConstant %uint 2
%release = OpConstant %uint 0x104
%acquire = OpConstant %uint 0x102
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%entry = OpLabel
OpControlBarrierArriveINTEL %workgroup %workgroup %release
OpControlBarrierWaitINTEL %workgroup %workgroup %acquire
OpReturn
OpFunctionEnd
",
    )
}

/// A workgroup votes on every invocation's argument: all, then any.
pub(crate) fn votes() -> Result<Vec<u8>> {
    assembled(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Groups
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %index
OpExecutionMode %main LocalSize 256 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%workgroup = OpConstant %uint 2
%pinput = OpTypePointer Input %ulong
%pglobal = OpTypePointer CrossWorkgroup %uint
%fn = OpTypeFunction %void %pglobal
%index = OpVariable %pinput Input
%main = OpFunction %void None %fn
%out = OpFunctionParameter %pglobal
%entry = OpLabel
%i = OpLoad %ulong %index
%at = OpInBoundsPtrAccessChain %pglobal %out %i
%v = OpLoad %uint %at
%ask = OpINotEqual %bool %v %zero
%every = OpGroupAll %bool %workgroup %ask
%some = OpGroupAny %bool %workgroup %ask
%differ = OpLogicalNotEqual %bool %every %some
%word = OpSelect %uint %differ %one %zero
OpStore %at %word
OpReturn
OpFunctionEnd
",
    )
}
