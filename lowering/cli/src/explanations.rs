//! The texts of `splitbar explain` for codes without a validation rule, and for the findings of the
//! simulator. The text of a rule, with tested examples, is next to its code.

use splitbar::diagnostic::Code;
use splitbar::simulate::machine::FindingKind;

/// The cause of a code, and what to do about it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Explanation {
    pub because: &'static str,
    pub help: &'static str,
}

/// The explanation of `code`; `None` if a validation rule documents it.
pub(super) fn of_code(code: Code) -> Option<Explanation> {
    find(CODES, code)
}

/// The explanation of a finding of the simulator.
pub(super) fn of_finding(kind: FindingKind) -> Option<Explanation> {
    find(FINDINGS, kind)
}

fn find<K: PartialEq>(texts: &[Text<K>], key: K) -> Option<Explanation> {
    texts
        .iter()
        .find(|(of, _, _)| *of == key)
        .map(|&(_, because, help)| Explanation { because, help })
}

/// Code, reason, help.
type Text<K> = (K, &'static str, &'static str);

const CODES: &[Text<Code>] = &[
    // The binary form.
    (
        Code::BadMagic,
        "A SPIR-V binary starts with the word 0x07230203 (SPIR-V 2.3). This file starts with other bytes: it is text, has another format, or is empty.",
        "Use a SPIR-V binary. Assemble text with `spirv-as`; compile sources with their own compiler first.",
    ),
    (
        Code::TruncatedModule,
        "The header has five words, and the first word of each instruction contains its length (SPIR-V 2.3). The file ends before that.",
        "Write or copy the file again: its end is missing.",
    ),
    (
        Code::BadLength,
        "A module is a sequence of 32-bit words, so its length is a multiple of four bytes.",
        "Check that the file was transferred in binary mode and is complete.",
    ),
    (
        Code::ZeroWordCount,
        "The upper half of an instruction's first word is its length in words, including this word, so it cannot be 0. The next instruction cannot be found.",
        "Check the tool that wrote the module. The file is damaged at this word.",
    ),
    (
        Code::IdOutOfBound,
        "The fourth word of the header is the bound: all ids are below it (SPIR-V 2.3).",
        "Fix the tool that wrote the module. If nothing else is wrong, increase the bound in the header.",
    ),
    (
        Code::ZeroId,
        "Ids start at 1. An operand or a result id is 0, often because a tool did not find an id and wrote 0.",
        "Fix the tool that wrote the module; the place names the instruction.",
    ),
    (
        Code::UnterminatedString,
        "A literal string ends with a zero byte inside its own instruction (SPIR-V 2.2.1).",
        "Fix the word count of the instruction or the string.",
    ),
    (
        Code::DuplicateId,
        "Each id has exactly one definition (SPIR-V 2.16). Two instructions define the same id, so its uses are ambiguous.",
        "Use a new id for one of the two. Link modules instead of concatenating them: `splitbar lower A.spv B.spv`.",
    ),
    (
        Code::MissingOperand,
        "The grammar of SPIR-V requires more operands than the word count of the instruction allows.",
        "Check the tool that wrote the instruction, and its version of the grammar.",
    ),
    (
        Code::ModuleTooLarge,
        "Word offsets are 32-bit numbers, and passes can make modules larger, so the size is limited. The limit is far above the size of real modules.",
        "Split the module by entry point. If a real program needs more, please report it.",
    ),
    (
        Code::UnsupportedVersion,
        "The second word of the header is the version, 0x00010000 for 1.0 to 0x00010600 for 1.6.",
        "Check that the file is not damaged. A version after 1.6 needs a newer splitbar.",
    ),
    (
        Code::RspirvRefused,
        "The caller requested the module in the data structures of the crate rspirv. Its loader supports fewer instructions and layouts than this crate.",
        "Use `splitbar_passes::module::Module`, which keeps instructions that it does not know.",
    ),
    (
        Code::BadAssembly,
        "The assembler for tests and examples reads one instruction per line: an optional `%id =`, the name, and its operands.",
        "Correct the line. `spirv-as` supports the full language.",
    ),
    // Declarations.
    (
        Code::UndefinedId,
        "An operand names an id that no instruction of the module defines.",
        "If a tool removed the definition, remove the use too. If the definition is in another module, link the two.",
    ),
    (
        Code::WrongDefinition,
        "The operand must be a type, a constant, a variable, a label or a function, but its id is defined by another kind of instruction.",
        "Check the instruction that defines the id; the diagnostic names it.",
    ),
    (
        Code::MalformedFunction,
        "A function consists of OpFunction, its parameters, blocks from OpLabel to a terminator, and OpFunctionEnd, in this order (SPIR-V 2.4).",
        "Check the tool that wrote the module; `spirv-val` reports more about the structure of functions.",
    ),
    (
        Code::NoEntryPoint,
        "Kernels are compiled from entry points with the execution models GLCompute and Kernel. The module has no entry point: it is a library.",
        "Link it with the module that calls it: `splitbar lower kernel.spv library.spv`.",
    ),
    (
        Code::UnknownEntryPoint,
        "No entry point has the requested name. The help of the diagnostic lists the names of all entry points.",
        "Check the spelling, or omit the name to compile all entry points.",
    ),
    (
        Code::BadConstant,
        "A constant instruction divides by zero, has operands of the wrong number or kind, or uses an operation that constants do not allow.",
        "Correct the constant; if it is specialized, check the values that it depends on.",
    ),
    (
        Code::TypeMismatch,
        "The type of an operand is not the type that the instruction requires.",
        "Convert the operand (OpBitcast, OpUConvert, ...), or correct the type.",
    ),
    (
        Code::RecursiveCall,
        "A function calls itself, directly or indirectly. SPIR-V forbids recursion in Vulkan and OpenCL, and functions with barriers are inlined.",
        "Replace the recursion with a loop.",
    ),
    (
        Code::UnknownSpecId,
        "A value was given for a specialization constant, but no constant has that SpecId.",
        "Find the decoration `SpecId` in the disassembly of the module (`--emit-dir DIR` writes it), or remove the value.",
    ),
    (
        Code::NestingTooDeep,
        "Types, constants and calls can refer to each other, and each level needs memory. Real modules have a handful of levels; the limit protects against hostile modules that exhaust the stack.",
        "Flatten the structure. If a real program needs more levels, please report it.",
    ),
    (
        Code::MissingTerminator,
        "Every block ends with a branch, a switch, a return, OpKill or OpUnreachable, and branches go to labels of the same function (SPIR-V 2.4).",
        "Check the tool that wrote the module; the diagnostic names the block or the branch.",
    ),
    (
        Code::TooManyDecorations,
        "One OpGroupDecorate can expand to many decorations, so a small module could request millions. The limit is four decorations for each word of the module.",
        "Write the decorations without groups, which SPIR-V deprecates.",
    ),
    (
        Code::BadSpecValue,
        "The value of a specialization constant must be a number of its width and kind, or true or false for a Boolean.",
        "Use a value that fits. Hexadecimal (0x...) sets the bits of a float.",
    ),
    (
        Code::LinkConflict,
        "Modules are linked by name: an import needs exactly one export of the same type, and the addressing and memory models must be the same.",
        "Compile the modules with the same options; the diagnostic names the difference.",
    ),
    // Barriers.
    (
        Code::BadScope,
        "A barrier is lowered for one scope, so the operand must be a constant with the value of a scope (SPIR-V 3.27).",
        "Use a constant. Inlining turns a scope that is a function parameter into one: `splitbar-opt --inline-barrier-functions`.",
    ),
    (
        Code::BadSemantics,
        "Memory semantics are a constant mask of at most one memory order (Acquire, Release, AcquireRelease, SequentiallyConsistent) and storage classes (SPIR-V 3.25).",
        "Set at most one memory order, and the storage classes that it applies to.",
    ),
    (
        Code::BadExecutionScope,
        "Split barriers synchronise a workgroup or a subgroup (VUID-StandaloneSpirv-OpControlBarrierArriveEXT-13553). No GPU supports a larger scope.",
        "Use the scope Workgroup. To synchronise workgroups, use atomics or separate launches.",
    ),
    (
        Code::UnsupportedExecutionScope,
        "An OpControlBarrier across workgroups needs all workgroups to be resident at the same time, which neither Vulkan nor OpenCL guarantees.",
        "Use the scope Workgroup or Subgroup.",
    ),
    (
        Code::WaitWithoutArrive,
        "A wait ends when every invocation of the scope has executed the matching arrive. On no path to this wait is an arrive of the same execution scope outstanding, so no execution of it can end correctly (VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559). Common causes: the arrive has another execution scope, is in a branch that does not lead here, or already has an earlier wait.",
        "Put an OpControlBarrierArriveEXT of the same execution scope on every path to the wait, remove the wait, or use OpControlBarrier if there is no work between the two.",
    ),
    // What is not lowered.
    (
        Code::UnsupportedInstruction,
        "The instruction is valid but not supported. `docs/instructions.md` lists the supported instructions.",
        "Make the front end generate other code; the diagnostic names another form if one is supported.",
    ),
    (
        Code::UnsupportedExtendedInstruction,
        "The extended instruction, or its whole set, is not supported. The supported sets are GLSL.std.450, OpenCL.std and the debug-info sets.",
        "Compile without the extension that uses the set, or use a core instruction.",
    ),
    (
        Code::UnsupportedType,
        "The targets have no such type, or no registers of its width.",
        "Use a supported type; the diagnostic names the type and its declaration.",
    ),
    (
        Code::UnsupportedCapability,
        "The capability needs features that compute kernels do not have on these targets, or that are not supported.",
        "Remove the capability if the module does not use it; many compilers declare more than they need.",
    ),
    (
        Code::UnsupportedBuiltIn,
        "Compute kernels on these targets do not have the value of this built-in variable.",
        "Pass the value as a kernel argument or a push constant.",
    ),
    (
        Code::UnsupportedStorageClass,
        "Variables of this storage class belong to another kind of shader, or cannot be kernel arguments.",
        "Use a storage buffer, a push constant or workgroup memory.",
    ),
    (
        Code::UnsupportedExecutionModel,
        "Only entry points with the execution model GLCompute (Vulkan) or Kernel (OpenCL) can be compiled.",
        "Select a compute entry point with `--entry`, or split the module.",
    ),
    (
        Code::UnsupportedOnTarget,
        "Other targets have an instruction for this, but the chosen one does not, and splitbar does not emulate it.",
        "Choose another target (`splitbar targets`), or use simpler instructions.",
    ),
    (
        Code::UnsupportedStrategy,
        "Each strategy has requirements: barrier objects, a known workgroup size, few enough warps, workgroup memory. A strategy that is requested by name is never replaced silently.",
        "Omit the strategy to let the planner choose. `splitbar targets` lists the strategies of each target, and `--emit plan` shows the reason for each choice.",
    ),
    (
        Code::UnsupportedLinkage,
        "A function with import linkage is called, but no linked module exports it.",
        "Link the module that defines it: `splitbar lower kernel.spv library.spv`.",
    ),
    (
        Code::UnsupportedMode,
        "The execution mode changes the meaning of the kernel, and it is not supported on the target or contradicts an option.",
        "Remove the mode or the option; the diagnostic names both.",
    ),
    (
        Code::EmptyWorkgroup,
        "A workgroup without invocations cannot run. Dimensions that are specialization constants often default to 0.",
        "Set the values: `--spec ID=VALUE`, or `--workgroup-size X,Y,Z` for all dimensions.",
    ),
    (
        Code::UnsupportedPrint,
        "The host formats the text of a printf. The format string must therefore be a constant, valid in OpenCL C, and match the arguments.",
        "Use a literal format string, without `%n` and `*`.",
    ),
    (
        Code::UnsupportedAbi,
        "The chosen form of the binary interface has no place for a buffer, an image or a length of the kernel, or its descriptor is too small or misaligned. On AMD GPUs, an image needs 32 bytes, and one with a sampler 48. docs/abi.md specifies the forms.",
        "Choose another form (`--abi arguments`, `--abi descriptor-sets:32`), or add the place to the interface.",
    ),
    (
        Code::UnsupportedDecoration,
        "The decoration changes the meaning of the module, and it is unknown or not supported. Ignoring it could give wrong results. `docs/enumerants.md` lists the treatment of all decorations.",
        "Remove the decoration if the module does not need it, or make the front end generate code without it.",
    ),
    (
        Code::UnsupportedOperand,
        "A memory operand, an image operand or a control mask has a bit that is unknown or not supported. `docs/enumerants.md` lists the bits.",
        "Make the front end generate code without it; the diagnostic names the bit and the instruction.",
    ),
    (
        Code::BlockTooLarge,
        "A push-constant block, a structure that is passed by value, or all of these together have more than 64 KiB. The Offset, ArrayStride and MatrixStride decorations of a block determine its size.",
        "Move large data to a buffer, and check these decorations.",
    ),
    (
        Code::StackTooLarge,
        "A Private or Function variable, or all variables of a kernel together, have more than 1 MiB. Copies of arguments by value count too. Each invocation has its own variables, and a GPU runs many thousands of them.",
        "Move large data to a buffer or to workgroup memory.",
    ),
    (
        Code::TensorTooLarge,
        "A tensor instruction computes an address from a coordinate, a size and a stride for each dimension. The limit is 32 dimensions, more than Vulkan requires. An instruction can read or write at most 512 elements, because each element needs its own code.",
        "Merge contiguous dimensions; read and write large arrays in parts, in a loop.",
    ),
    // Limits of targets.
    (
        Code::TooMuchSharedMemory,
        "The workgroup variables and the memory that the barrier strategies reserve do not fit into the workgroup memory of the target.",
        "Make the variables smaller, or choose a strategy that reserves nothing (`--strategy fused`). `--emit reflect` shows both sizes.",
    ),
    (
        Code::WorkgroupTooLarge,
        "The product of the three dimensions exceeds the limit of the target.",
        "Choose a smaller workgroup.",
    ),
    // Tools and this program itself.
    (
        Code::Internal,
        "An assertion of splitbar failed. This is a bug in splitbar, even if the module is invalid.",
        "Please report it with the module and the command line. `--emit-dir DIR` keeps the results of all earlier stages.",
    ),
    (
        Code::ToolFailed,
        "A program that splitbar runs, such as ptxas or lld, could not be started, does not support the target, or is another program. The diagnostic contains its message.",
        "Set the path of the right program: `--ptxas`, SPLITBAR_PTXAS, SPLITBAR_NVDISASM or SPLITBAR_LLD.",
    ),
    (
        Code::WrongUsage,
        "The command line names something that does not exist, or the system cannot read or write a file.",
        "Correct the argument or the file that the message names; `--help` lists the arguments.",
    ),
    (
        Code::WorkerLimit,
        "A command runs in a worker process. The process exceeded its time limit or its memory limit, or the system ended it because memory was short.",
        "Raise the limit (`--time-limit`, `--memory-limit`), free memory, split the kernel, or optimise less (`-O 0`).",
    ),
    (
        Code::WorkerMissing,
        "A command runs in a worker process, the program `splitbar`. The system could not start it, or it belongs to another release with a different protocol.",
        "Set `Isolation::program` to the program of this release, or add it to PATH.",
    ),
    (
        Code::LlvmMissing,
        "LLVM generates code and reads machine code. This splitbar was built without it: it can check, plan and explore modules, and simulate and audit PTX and assembly text.",
        "Build the crate `splitbar` with its feature `llvm`, which is a default feature.",
    ),
    (
        Code::UnreadableIr,
        "`splitbar lower-ir` reads LLVM bitcode or the text of a module, in the version of its own LLVM. LLVM's verifier must accept the module. Older bitcode works; bitcode of later releases may not.",
        "Compile with a clang of the same or an earlier release (`splitbar --version` shows LLVM's), or run LLVM's `opt -passes=verify` to find the error.",
    ),
    (
        Code::ForeignIr,
        "LLVM IR is compiled for a target: its triple, and the target-cpu of its kernels. IR for one GPU cannot be compiled for another.",
        "Compile for the GPU of `--target`: `-target amdgcn-amd-amdhsa -mcpu=gfx1201`, or `-target nvptx64-nvidia-cuda -march=sm_90`.",
    ),
    (
        Code::NoIrKernel,
        "No kernel calls the functions with barriers. A kernel is a function with a body and the calling convention amdgpu_kernel, ptx_kernel or spir_kernel, or one that nvvm.annotations names.",
        "Link the kernels and the functions that they call into one module first (`llvm-link`).",
    ),
    (
        Code::BarrierOperandNotConstant,
        "The scopes, semantics and fence flags of a barrier determine its instructions, so they must be compile-time constants: literals, or parameters of an inlined function that is called with constants.",
        "Use a constant: `__spirv_ControlBarrierArriveINTEL(2, 2, 0x104)`.",
    ),
    (
        Code::BarrierArguments,
        "A function with the name of a barrier is called with the wrong number or types of arguments, or its result is used. Barriers have integer parameters and no result.",
        "Declare it as in docs/llvm_ir.md, or rename your own function.",
    ),
    (
        Code::UninlinableBarriers,
        "Every barrier of a kernel must have one place in one control-flow graph, so functions with barriers are inlined. This is not possible for functions that are recursive, have variable arguments or have their address taken. LLVM also does not inline functions that have another target-cpu, branch to addresses, or are called with other types than their own.",
        "Call it directly and without recursion, or move the barrier into the kernel.",
    ),
    (
        Code::UnsupportedIrControlFlow,
        "Arrives and waits are paired along the branches of a kernel. Branches to addresses, exceptions and assembly with branches cannot be analysed, and convergence control tokens conflict with the steps of a plan.",
        "Write the kernel without them: `switch` instead of computed goto.",
    ),
    (
        Code::ForeignBarrier,
        "A plan includes all barriers of a kernel. The target's own arrive and wait instructions, barriers of a part of a workgroup or of a cluster, and numbered barriers could use a barrier of the plan, or complete a phase of a split barrier.",
        "Use the barriers of docs/llvm_ir.md, or keep the others in kernels without split barriers.",
    ),
    (
        Code::IrEndsLlvm,
        "LLVM assumes that a module accepted by its verifier comes from a compiler. For some features, such as an unknown garbage collector, an alias of a kernel on NVIDIA GPUs, or scalable vectors on a GPU, it prints a reason and exits. The worker process that compiled the module ended in this way.",
        "Remove the feature that the reason names.",
    ),
    (
        Code::UnreadableIrAssembly,
        "Windows are counted and fences audited in the assembly that LLVM writes. For some features of LLVM IR, such as symbol partitions on NVIDIA GPUs, LLVM writes lines that no assembler can read, or omits a kernel.",
        "Remove the feature that the reason names. With `--strategy fused` nothing has to be counted.",
    ),
    (
        Code::LinkerMissing,
        "A code object for AMD GPUs is linked by LLVM's linker, but neither PATH nor the Rust tool chain has one.",
        "Install lld, or set SPLITBAR_LLD to its path. `--emit obj` needs no linker.",
    ),
    (
        Code::LinkerFailed,
        "The linker found an error in the object, such as an undefined name.",
        "Please report this with the module and the command line.",
    ),
    (
        Code::LlvmFailed,
        "LLVM rejected the code that splitbar generated, or its process crashed. Earlier checks should reject such input, so this is a bug.",
        "Please report it with the module and the command line. `-O 0` or another strategy may avoid it.",
    ),
    (
        Code::MissingWait,
        "The audit read the final assembly and found a path to a barrier on which an operation that the barrier releases may be outstanding. Other waves could read old data.",
        "Please report it with the module. `--waits conservative` adds waits for all operations.",
    ),
    (
        Code::MissingInvalidation,
        "The audit read the final code and found a load that may read stale data: its cache is not invalidated after the barrier or atomic by which the plan's fence acquires.",
        "Please report it with the module. Until it is fixed, `--strategy fused` or `-O 0` may avoid it.",
    ),
    (
        Code::MissingWriteBack,
        "The audit read the final code and found a store that a fence of the plan releases, but the cache that may hold it is not written back.",
        "Please report it with the module. Until it is fixed, `--strategy fused` or `-O 0` may avoid it.",
    ),
    (
        Code::MissingFence,
        "The audit read the PTX and found a synchronisation that orders less than the plan requires: the fence is missing, or its memory order or scope is too weak.",
        "Please report it with the module. Until it is fixed, `--strategy fused` or `-O 0` may avoid it.",
    ),
    (
        Code::NoEffectLeft,
        "An entry point writes a buffer or an image, but its final code does not: the optimiser found that no write is reachable, or that the behaviour of the kernel is undefined. Examples are a kernel that always divides by zero, and writes under a condition that is never true.",
        "Check the condition of the instruction that the diagnostic names. If the module is right, please report this with the module and the command line.",
    ),
    (
        Code::AssemblerMissing,
        "Cubins and windows in machine code need NVIDIA's ptxas and nvdisasm, which are part of the CUDA toolkit.",
        "Install them, or set their paths (`--ptxas`, SPLITBAR_PTXAS, SPLITBAR_NVDISASM). `--emit asm` needs neither.",
    ),
    (
        Code::AssemblerFailed,
        "ptxas found an error in the PTX that splitbar generated.",
        "Please report this with the module and the command line.",
    ),
    (
        Code::TooManyProblems,
        "All problems are reported in one run, up to a number that is still readable.",
        "Fix the reported problems and run the check again.",
    ),
    // Launches on the simulator.
    (
        Code::LaunchTooLarge,
        "The simulator runs every instruction of every workgroup under every schedule, and keeps shadow data for every byte. Larger launches would need hours and gigabytes. A launch without workgroups runs nothing, so it cannot find anything.",
        "Launch fewer workgroups with smaller buffers. A few workgroups show the same problems as a million.",
    ),
    // Profiles of barriers.
    (
        Code::NotAProfile,
        "A dump begins with the bytes SBSK, which the first record writes (`docs/profile.md`). Zeros mean that the kernel executed no measured barrier, or that the buffer was read before the kernel had ended.",
        "Launch the kernel that `splitbar-opt --instrument-barrier-skew` wrote with a buffer of zeros, and read that buffer back from its first byte on.",
    ),
    (
        Code::ProfileVersion,
        "The second word of a dump is the version of its format. The kernel was instrumented by another release.",
        "Instrument the module again with this release, and measure again.",
    ),
    (
        Code::TruncatedProfile,
        "The header contains the number of records in the buffer. The file is shorter.",
        "Read back the whole buffer, with the size of the descriptor that the kernel used.",
    ),
    (
        Code::DamagedProfile,
        "Each record has a number and a check word, and the records of one phase belong to one barrier. Possible causes are other writes to the buffer, a buffer that was not filled with zeros, or a ring so small that two subgroups wrote one slot at the same time.",
        "Fill the buffer with zeros before the launch, make it large enough for several times the subgroups that run at once, and write nothing else to it.",
    ),
    (
        Code::RepeatedLaunch,
        "A subgroup executes each phase once in a launch. Two records of one subgroup in one phase are from two launches, whose clocks cannot be compared.",
        "Fill the buffer with zeros before each launch, and read it back after each.",
    ),
    (
        Code::ForeignProfile,
        "The dump contains the hash of the instrumented module, and its records name barriers by their places in that module. The given module has another hash.",
        "Use the input of `splitbar-opt --instrument-barrier-skew`, not its output. If other passes ran in the same command, write the module between them to a file.",
    ),
    (
        Code::ProfileTarget,
        "A profile contains the skew between waves on one GPU. This one is from another GPU or wave size than the target of the compilation, or its workgroups had another number of subgroups.",
        "Record the profile on the target, with its wave size, or compile without one.",
    ),
    (
        Code::ProfileWithoutTarget,
        "The last two words of the header are the GPU and the wave size of the kernel. They are zero: the module was instrumented without a target, or by an earlier release. So it is unknown whether the profile is from the target of the compilation.",
        "Instrument the module with `--instrument-barrier-skew=set:N,binding:N,target:GPU,wave:N`, or let the host write the two words (`docs/profile.md`).",
    ),
];

const FINDINGS: &[Text<FindingKind>] = &[
    (
        FindingKind::MissingWait,
        "The hardware returns loads later than it issues them, and code must wait before it uses a result. Under some schedule, the operation is still outstanding here.",
        "In code from splitbar this is a bug: please report it. In other code, add the wait for the right counter before the use.",
    ),
    (
        FindingKind::SharedRace,
        "Two accesses to workgroup memory conflict, and no barrier, fence or atomic orders them. The result depends on the timing of the waves.",
        "Put a barrier between the two, or make both atomic. In the window of a split barrier, do not access memory that the pair orders.",
    ),
    (
        FindingKind::GlobalRace,
        "Two accesses to global memory conflict, and nothing orders them: no barrier whose memory semantics name that memory, and no release and acquire through an atomic.",
        "Name the memory in the memory semantics of the barrier (UniformMemory, CrossWorkgroupMemory), with a scope that includes both invocations.",
    ),
    (
        FindingKind::UninitialisedShared,
        "Workgroup memory has no initial value unless the variable has an initializer. The value may be from another kernel.",
        "Write the memory first, with a barrier before other invocations read it, or use a null initializer.",
    ),
    (
        FindingKind::OutOfBounds,
        "The address is outside of all buffers of the launch, or outside of the workgroup or private memory of the kernel.",
        "Check the index, and the sizes of the buffers of the launch.",
    ),
    (
        FindingKind::Misaligned,
        "The address must be a multiple of the size of the access. GPUs fault here, or access another address.",
        "Check the offsets and strides of the buffer layout, and the Aligned memory operand.",
    ),
    (
        FindingKind::WriteToReadOnly,
        "The arguments of the kernel and constant memory are read-only.",
        "In code from splitbar this is a bug, unless the module casts away a constant: please report it.",
    ),
    (
        FindingKind::Deadlock,
        "Every wave that is still running waits at a barrier, or polls memory that no other wave writes.",
        "Check that all waves of the scope reach each barrier: `splitbar check` finds barriers in control flow that is not uniform.",
    ),
    (
        FindingKind::BarrierMisuse,
        "A barrier object is initialised, joined, signalled or waited for in an order that the hardware does not define.",
        "In code from splitbar this is a bug: please report it. In other code, see the barrier object in `docs/simulation.md`.",
    ),
    (
        FindingKind::UnsupportedInstruction,
        "The simulator does not support the instruction, so it cannot continue.",
        "Simulate another target, or report the instruction.",
    ),
    (
        FindingKind::BadProgramCounter,
        "A branch or a return goes to an address without an instruction of the kernel.",
        "Check indirect branches and calls. In code from splitbar this is a bug: please report it.",
    ),
    (
        FindingKind::StepLimit,
        "The limit stops endless loops.",
        "Raise the limit if the kernel is only long. Otherwise check loops that poll memory.",
    ),
    (
        FindingKind::MemoryLimit,
        "The buffers, the workgroup memory of all workgroups, and the data of the simulator have a common limit.",
        "Use smaller buffers or fewer workgroups, or raise the limit.",
    ),
    (
        FindingKind::Trap,
        "The kernel executed a trap instruction: an assertion of its own, or code that should be unreachable.",
        "Check the condition before the trap.",
    ),
    (
        FindingKind::MatrixLanes,
        "Matrix instructions use the registers of all lanes of a wave. Some lanes are inactive, or have operands of different calls.",
        "Execute matrix operations in control flow that is uniform in the subgroup.",
    ),
    (
        FindingKind::StaleRead,
        "The value in this cache is older than the writes that the wave has synchronised with: an acquire must invalidate the cache first.",
        "In code from splitbar this is a bug if the memory semantics name the memory: please report it. Otherwise name it, with a scope that includes both.",
    ),
    (
        FindingKind::NotWrittenBack,
        "A release at device scope must write the cache back, so that other parts of the device can see the stores.",
        "Release at scope Device before the other workgroup is notified. If the code does so and is from splitbar, this is a bug: please report it.",
    ),
    (
        FindingKind::EqualWrites,
        "Compilers and programs sometimes write one value to one place from several lanes on purpose. The result does not depend on the order, but the memory models of SPIR-V and LLVM call it a race.",
        "Nothing has to be done. To avoid the note, write from one invocation only, or use atomic stores.",
    ),
    (
        FindingKind::MissingProxyFence,
        "Bulk copies access memory through the asynchronous proxy, other accesses through the generic proxy (PTX ISA); only a proxy fence orders the two.",
        "In code from splitbar this is a bug: please report it. In other code, put `fence.proxy.async` between the two.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use splitbar_passes::validate::rules;

    #[test]
    fn every_code_is_explained_in_one_place() {
        for code in Code::ALL {
            let rule = usize::from(rules::find(*code).is_some());
            let own = CODES.iter().filter(|(of, _, _)| of == code).count();
            assert_eq!(rule + own, 1, "{code}: {}", code.summary());
            if let Some(Explanation { because, help }) = of_code(*code) {
                let says_more = because.len() > 40 && because != code.summary() && !help.is_empty();
                assert!(says_more, "{code}: {because} {help}");
            }
        }
    }

    #[test]
    fn every_finding_is_explained() {
        for kind in FindingKind::ALL {
            let texts = FINDINGS.iter().filter(|(of, _, _)| of == kind).count();
            assert_eq!(texts, 1, "{kind}: {}", kind.summary());
        }
    }
}
