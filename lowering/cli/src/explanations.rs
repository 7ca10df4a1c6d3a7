//! What `splitbar explain` says of the codes that no validation rule documents, and of the findings
//! of the simulator. Rules have their text, with examples that are run, beside their code.

use splitbar::diagnostic::Code;
use splitbar::simulate::machine::FindingKind;

/// When a code is reported and why that is a problem; what to do about it.
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
        "A SPIR-V binary starts with the word 0x07230203 (SPIR-V 2.3). The file starts with other bytes: it is text, another format, or empty.",
        "Pass the binary. Assemble text with `spirv-as`; compile sources with their own compiler first.",
    ),
    (
        Code::TruncatedModule,
        "The header has five words, and each instruction has as many words as its first word says (SPIR-V 2.3). The file ends before that.",
        "Write or copy the file again: its end is missing.",
    ),
    (
        Code::BadLength,
        "A module is a sequence of 32-bit words, so its length is a multiple of four bytes.",
        "Check that the file was transferred in binary mode and is complete.",
    ),
    (
        Code::ZeroWordCount,
        "The high half of an instruction's first word is its length in words, itself included; 0 is reserved. The instructions behind it cannot be found.",
        "Check the tool that wrote the module. The file is damaged at this word.",
    ),
    (
        Code::IdOutOfBound,
        "The fourth word of the header is the bound: all ids are below it (SPIR-V 2.3).",
        "Fix the tool that wrote the module. If the rest of it is right, a larger bound in the header is enough.",
    ),
    (
        Code::ZeroId,
        "Ids start at 1. An operand or a result id is 0, which is what a tool writes when it looked an id up and found none.",
        "Fix the tool that wrote the module; the place names the instruction.",
    ),
    (
        Code::UnterminatedString,
        "A literal string ends with a zero byte inside its own instruction (SPIR-V 2.2.1).",
        "Fix the word count of the instruction or the string.",
    ),
    (
        Code::DuplicateId,
        "Each id has exactly one definition (SPIR-V 2.16). Two instructions define the same one, so its uses have no meaning.",
        "Give one of the two a new id. Modules that were concatenated have to be linked instead: `splitbar lower A.spv B.spv`.",
    ),
    (
        Code::MissingOperand,
        "The grammar of SPIR-V asks for more operands than the instruction's word count leaves room for.",
        "Check the tool that wrote the instruction, and which version of the grammar it has.",
    ),
    (
        Code::ModuleTooLarge,
        "Word offsets are 32-bit numbers, and passes may make modules larger; so there is a limit on size that is far above real modules.",
        "Split the module by entry point. If a real program needs more, please report it.",
    ),
    (
        Code::UnsupportedVersion,
        "The second word of the header is the version, 0x00010000 for 1.0 to 0x00010600 for 1.6.",
        "Check that the file is not damaged. A newer version than 1.6 needs a newer splitbar.",
    ),
    (
        Code::RspirvRefused,
        "The caller asked for the module in the data structures of the crate rspirv, whose loader knows fewer instructions and layouts than this crate.",
        "Use `splitbar_passes::module::Module`, which keeps instructions that it does not know.",
    ),
    (
        Code::BadAssembly,
        "The assembler for tests and examples reads one instruction a line: an optional `%id =`, the name, and its operands.",
        "Correct the line. `spirv-as` reads the full language.",
    ),
    // Declarations.
    (
        Code::UndefinedId,
        "An operand names an id that no instruction of the module defines.",
        "If a tool removed the definition, it has to remove the use too. If the definition is in another module, link the two.",
    ),
    (
        Code::WrongDefinition,
        "An operand has to be a type, a constant, a variable, a label or a function, and its id is defined by something else.",
        "Look at the instruction that defines the id; the diagnostic names it.",
    ),
    (
        Code::MalformedFunction,
        "A function is OpFunction, its parameters, blocks that each go from OpLabel to a terminator, and OpFunctionEnd, in this order (SPIR-V 2.4).",
        "Check the tool that wrote the module; `spirv-val` says more about the structure of functions.",
    ),
    (
        Code::NoEntryPoint,
        "Kernels are made from entry points of the execution models GLCompute and Kernel. The module has no entry point: it is a library.",
        "Link it with the module that calls it: `splitbar lower kernel.spv library.spv`.",
    ),
    (
        Code::UnknownEntryPoint,
        "No entry point has the requested name. The help line of the diagnostic lists the names of all entry points.",
        "Check the spelling, or leave the name out to compile all entry points.",
    ),
    (
        Code::BadConstant,
        "A constant instruction divides by zero, has operands of the wrong number or kind, or uses an operation that constants cannot have.",
        "Correct the constant; with specialization, check the values that it is computed from.",
    ),
    (
        Code::TypeMismatch,
        "The grammar gives operands their places, the instruction gives them their types. An operand has another type than the instruction asks for.",
        "Convert the operand (OpBitcast, OpUConvert, ...) or correct the type.",
    ),
    (
        Code::RecursiveCall,
        "Functions that contain barriers are inlined, and SPIR-V forbids recursion in Vulkan and OpenCL. A function reaches itself through its calls.",
        "Write the recursion as a loop.",
    ),
    (
        Code::UnknownSpecId,
        "A value was given to a specialization constant, and no constant is decorated with that SpecId.",
        "Look for the decoration `SpecId` in the module's disassembly (`--emit-dir DIR` writes it), or leave the value out.",
    ),
    (
        Code::NestingTooDeep,
        "Types, constants and calls refer to each other, and each level costs memory. Real modules have a handful of levels; the limit keeps hostile ones from exhausting the stack.",
        "Flatten the structure. If a real program needs more levels, please report it.",
    ),
    (
        Code::MissingTerminator,
        "Every block ends with a branch, a switch, a return, OpKill or OpUnreachable, and branches go to labels of the same function (SPIR-V 2.4).",
        "Check the tool that wrote the module; the place is where control has nowhere to go.",
    ),
    (
        Code::TooManyDecorations,
        "One OpGroupDecorate can stand for many decorations, so a small module could ask for millions. They may be four times as many as the module has words.",
        "Write the decorations without groups, which SPIR-V deprecates.",
    ),
    (
        Code::BadSpecValue,
        "The value of a specialization constant has to be a number of its width and kind, or true or false for a boolean.",
        "Give a value that fits. Hexadecimal (0x...) gives the bits of a float.",
    ),
    (
        Code::LinkConflict,
        "Modules are linked by name: an import needs one export of the same type, and addressing and memory model have to agree.",
        "Compile the modules with the same options; the diagnostic names what differs.",
    ),
    // Barriers.
    (
        Code::BadScope,
        "A barrier is lowered for one scope, so the operand has to be a constant with the value of a scope (SPIR-V 3.27).",
        "Use a constant. A scope from a function parameter becomes one once the function is inlined: `splitbar-opt --inline-barrier-functions`.",
    ),
    (
        Code::BadSemantics,
        "Memory semantics are a mask of at most one order (Acquire, Release, AcquireRelease, SequentiallyConsistent) and storage classes, as a constant (SPIR-V 3.26).",
        "Set one order at most, and the storage classes that it applies to.",
    ),
    (
        Code::BadExecutionScope,
        "Split barriers synchronise a workgroup or a subgroup (VUID-StandaloneSpirv-OpControlBarrierArriveEXT-13553); no GPU has them for a larger scope.",
        "Use scope Workgroup. Different workgroups synchronise through atomics and separate launches.",
    ),
    (
        Code::UnsupportedExecutionScope,
        "OpControlBarrier of a scope wider than the workgroup would need all workgroups to be resident at once, which neither environment promises.",
        "Use scope Workgroup or Subgroup.",
    ),
    (
        Code::WaitWithoutArrive,
        "A wait ends when every invocation of the scope has executed the matching arrive. Pairs are made by execution, per scope: on no path to this wait is an arrive of the same \
         execution scope still outstanding, so no execution of the wait can ever end correctly (VUID-RuntimeSpirv-OpControlBarrierWaitEXT-13559). Common causes: the arrive has another execution \
         scope, stands in a branch that never leads here, or an earlier wait has already answered it.",
        "Put an OpControlBarrierArriveEXT of the same execution scope on every path to the wait, remove the wait, or use OpControlBarrier when arrive and wait would touch.",
    ),
    // What is not lowered.
    (
        Code::UnsupportedInstruction,
        "The instruction is valid and has no lowering. `docs/instructions.md` lists those that have one.",
        "Ask the front end for code without it; the diagnostic says if another form is supported.",
    ),
    (
        Code::UnsupportedExtendedInstruction,
        "The extended instruction, or its whole set, has no lowering. GLSL.std.450, OpenCL.std and the debug-info sets are known.",
        "Compile without the extension that brings the set, or use a core instruction.",
    ),
    (
        Code::UnsupportedType,
        "The type has no counterpart on these targets, or a width that no register holds.",
        "Use a supported type; the diagnostic names the type and where it is declared.",
    ),
    (
        Code::UnsupportedCapability,
        "The capability asks for features that compute kernels on these targets do not have, or that are not lowered.",
        "Remove the capability if the module does not use it; many compilers declare more than they need.",
    ),
    (
        Code::UnsupportedBuiltIn,
        "The value of this built-in variable is not available in a compute kernel of these targets.",
        "Pass the value as a kernel argument or a push constant.",
    ),
    (
        Code::UnsupportedStorageClass,
        "Variables of this storage class belong to another kind of shader, or have no place in the kernel's arguments.",
        "Use a storage buffer, a push constant or workgroup memory.",
    ),
    (
        Code::UnsupportedExecutionModel,
        "Only GLCompute (Vulkan) and Kernel (OpenCL) entry points become kernels.",
        "Name a compute entry point with `--entry`, or split the module.",
    ),
    (
        Code::UnsupportedOnTarget,
        "Other targets have an instruction for this; the chosen one does not, and splitbar does not emulate it.",
        "Choose another target (`splitbar targets`), or write the operation with simpler instructions.",
    ),
    (
        Code::UnsupportedStrategy,
        "Each strategy needs hardware or conditions: barrier objects, a known workgroup size, few enough warps, workgroup memory. A strategy that is requested by name is never replaced silently.",
        "Leave the strategy out to let the planner choose; `splitbar targets` lists what each target has, `--emit plan` says why a pair became what it is.",
    ),
    (
        Code::UnsupportedLinkage,
        "A function is declared with import linkage and called, and no linked module exports it.",
        "Give the module that defines it too: `splitbar lower kernel.spv library.spv`.",
    ),
    (
        Code::UnsupportedMode,
        "An execution mode changes what the kernel means, and this one is not implemented for the target, or contradicts an option.",
        "Remove the mode or the option; the diagnostic names both.",
    ),
    (
        Code::EmptyWorkgroup,
        "A workgroup without invocations cannot run. Dimensions that are specialization constants are often 0 until a value is given.",
        "Give the values: `--spec ID=VALUE`, or `--workgroup-size X,Y,Z` for all dimensions.",
    ),
    (
        Code::UnsupportedPrint,
        "The text of a printf is made on the host from the format string, which therefore has to be a constant of OpenCL C's language and fit the arguments.",
        "Use a literal format string, without `%n` and `*`.",
    ),
    (
        Code::UnsupportedAbi,
        "The kernel uses a buffer, an image or a length that the chosen form of the binary interface has no place for, or whose descriptor is too small or misaligned there. An image of an AMD GPU takes 32 bytes, one with a sampler 48. docs/abi.md specifies the forms.",
        "Choose another form (`--abi arguments`, `--abi descriptor-sets:32`), or add the place to the interface.",
    ),
    (
        Code::UnsupportedDecoration,
        "The decoration changes what the module means, and it is unknown here or has no lowering. Leaving it out could give wrong results. `docs/enumerants.md` lists all decorations and what becomes of each.",
        "Remove the decoration if the module does not need it, or ask the front end for code without it.",
    ),
    (
        Code::UnsupportedOperand,
        "A memory operand, an image operand or a control mask has a bit that is unknown here or has no lowering. `docs/enumerants.md` lists the bits.",
        "Ask the front end for code without it; the diagnostic names the bit and the instruction.",
    ),
    (
        Code::BlockTooLarge,
        "A push-constant block, a structure that a kernel takes by value, or all of these together have more than 64 KiB. The size of a block is what its Offset, ArrayStride and MatrixStride decorations make it.",
        "Keep large data in a buffer, and look for a decoration that is out of place.",
    ),
    (
        Code::StackTooLarge,
        "A Private or Function variable, or all that a kernel uses together, have more than 1 MiB. Copies of what is passed by value count too. Each invocation has its own, and a GPU runs many thousands of them.",
        "Keep large data in a buffer or in workgroup memory.",
    ),
    (
        Code::TensorTooLarge,
        "A tensor instruction computes an address from one coordinate, one dimension and one stride for each dimension. At most 32 dimensions are lowered, more than any tensor of Vulkan's has to have. An instruction reads or writes at most 512 elements, each of which takes code of its own.",
        "Take several dimensions for one, where nothing lies between their elements; read and write large arrays by parts, in a loop.",
    ),
    // Limits of targets.
    (
        Code::TooMuchSharedMemory,
        "Workgroup variables and what the barrier strategies reserve do not fit into the workgroup memory of the target.",
        "Make the variables smaller, or choose a strategy that reserves nothing (`--strategy fused`). `--emit reflect` shows both sizes.",
    ),
    (
        Code::WorkgroupTooLarge,
        "The product of the three dimensions is more than the target launches.",
        "Choose a smaller workgroup.",
    ),
    // Tools and this program itself.
    (
        Code::Internal,
        "An assertion of splitbar does not hold. The module is not to blame: whatever the input, this is a bug.",
        "Please report it with the module and the command line. `--emit-dir DIR` keeps what every stage before made.",
    ),
    (
        Code::ToolFailed,
        "A program that splitbar runs, such as ptxas or lld, could not be started, does not know the target, or is another program. Its own words are in the diagnostic.",
        "Name the right program: `--ptxas`, SPLITBAR_PTXAS, SPLITBAR_NVDISASM or SPLITBAR_LLD.",
    ),
    (
        Code::WrongUsage,
        "The command line asks for something that does not exist, or the system refused to read or write a file.",
        "The message names the argument or the file; `--help` lists the arguments.",
    ),
    (
        Code::WorkerLimit,
        "A command works on its module in a process of its own. The process was ended after the time that was allowed, it was refused memory, or the system ended it because memory was short.",
        "Allow more (`--time-limit`, `--memory-limit`), free memory, split the kernel, or optimise less (`-O 0`).",
    ),
    (
        Code::WorkerMissing,
        "A command works on its module in a process of its own, the program `splitbar`. The system could not start it, or it is of another release, with which this one cannot talk.",
        "Name the program of this release in `Isolation::program`, or put it on PATH.",
    ),
    (
        Code::LlvmMissing,
        "LLVM makes the code, and reads machine code back. This splitbar was built without it: it checks, plans and explores modules, and simulates and audits PTX and assembly text.",
        "Build the crate `splitbar` with its feature `llvm`, which is among the default features.",
    ),
    (
        Code::UnreadableIr,
        "`splitbar lower-ir` takes LLVM bitcode, or the text of a module, as the LLVM in this program reads it; its verifier must accept the module. Older bitcode is read; that of newer releases may not be.",
        "Compile with a clang of the same or an earlier release (`splitbar --version` names LLVM's), or ask LLVM's `opt -passes=verify` what is wrong.",
    ),
    (
        Code::ForeignIr,
        "LLVM IR is made for a target: its triple, and the target-cpu of its kernels, say which. Code for one GPU is not made of IR for another.",
        "Compile for the GPU that `--target` names: `-target amdgcn-amd-amdhsa -mcpu=gfx1201`, or `-target nvptx64-nvidia-cuda -march=sm_90`.",
    ),
    (
        Code::NoIrKernel,
        "Barriers were found in functions that no kernel calls. A kernel is a function with a body and the calling convention amdgpu_kernel, ptx_kernel or spir_kernel, or one that nvvm.annotations names.",
        "Link the kernels and what they call into one module first (`llvm-link`).",
    ),
    (
        Code::BarrierOperandNotConstant,
        "The scopes, semantics and fence flags of a barrier choose its instructions, so they must be constants when the module is compiled: written so, or parameters of a function that is called with constants and inlined.",
        "Give a constant: `__spirv_ControlBarrierArriveINTEL(2, 2, 0x104)`.",
    ),
    (
        Code::BarrierArguments,
        "A function with the name of a barrier is called with another number of arguments, with other types, or for a result. Barriers take integers and give nothing.",
        "Declare it as docs/llvm_ir.md has it, or name your own function differently.",
    ),
    (
        Code::UninlinableBarriers,
        "Every barrier of a kernel must have one place in one control-flow graph, so functions with barriers are inlined into the kernels. One that calls itself, whose address is taken, or that takes any number of arguments cannot be, nor one that LLVM leaves alone: one of another target-cpu, one that branches to addresses, or one that is called with other types than its own.",
        "Call it directly and without recursion, or move the barrier into the kernel.",
    ),
    (
        Code::UnsupportedIrControlFlow,
        "Pairs of arrives and waits are found along the branches of a kernel. Branches to addresses, exceptions and assembly that branches are not followed, and tokens that control convergence say what the steps of a plan would have to say too.",
        "Write the kernel without them: `switch` in place of computed goto.",
    ),
    (
        Code::ForeignBarrier,
        "A plan counts with all barriers of a kernel. Halves of the target's own, barriers of a part of a workgroup or of a cluster, and those with a number would take a barrier that the plan uses, or complete a phase that a split barrier has begun.",
        "Use the barriers of docs/llvm_ir.md, or keep the other ones in kernels without split barriers.",
    ),
    (
        Code::IrEndsLlvm,
        "LLVM takes a module that its verifier accepts for one of a compiler: on a garbage collector that it does not know, on an alias of a kernel for NVIDIA GPUs, or on vectors without a fixed length for a GPU it says why and ends the process. The module was compiled in a process of its own, which ended so.",
        "Leave out what the reason names.",
    ),
    (
        Code::UnreadableIrAssembly,
        "Windows are counted, and fences audited, in the assembly that LLVM writes. Some things in a module in LLVM IR make LLVM write lines that no assembler reads, such as partitions of symbols for NVIDIA GPUs, or leave out a kernel.",
        "Leave out what the reason names. With `--strategy fused` nothing has to be counted.",
    ),
    (
        Code::LinkerMissing,
        "A code object for AMD GPUs is linked by LLVM's linker, and none was found on PATH or in the Rust tool chain.",
        "Install lld, or name one in SPLITBAR_LLD. `--emit obj` needs no linker.",
    ),
    (
        Code::LinkerFailed,
        "The linker found a mistake in the object, such as a name that nothing defines.",
        "Please report this with the module and the command line.",
    ),
    (
        Code::LlvmFailed,
        "LLVM refused the code that splitbar gave it, or ended its process. The tables before LLVM have to keep such input away, so this is a bug.",
        "Please report it with the module and the command line. `-O 0` or another strategy may avoid it.",
    ),
    (
        Code::MissingWait,
        "The audit read the final assembly and found a path to a barrier on which an operation that the barrier releases may still be outstanding: other waves could see old data.",
        "Please report it with the module. `--waits conservative` compiles the kernel with waits for everything.",
    ),
    (
        Code::MissingInvalidation,
        "The audit read the final code and found a load that may be answered by a cache which was not invalidated since the barrier or the atomic that the plan's fence acquires by.",
        "Please report it with the module. `--strategy fused` or `-O 0` may avoid it until then.",
    ),
    (
        Code::MissingWriteBack,
        "The audit read the final code and found a store that a fence of the plan releases, and no write-back of the cache that it may still be in.",
        "Please report it with the module. `--strategy fused` or `-O 0` may avoid it until then.",
    ),
    (
        Code::MissingFence,
        "The audit read the PTX and found a synchronisation that orders less than the plan's fence promises: the fence is gone, or its order or scope is too weak.",
        "Please report it with the module. `--strategy fused` or `-O 0` may avoid it until then.",
    ),
    (
        Code::NoEffectLeft,
        "An entry point writes a buffer or an image, and its final code writes none: the optimiser found that no write can be reached, or that nothing of the kernel is defined. A kernel that always divides by zero, or whose writes stand where a condition never leads, is compiled to nothing.",
        "Look at the instruction that is named: is its condition ever true? If the module is right, please report this with the module and the command line.",
    ),
    (
        Code::AssemblerMissing,
        "Cubins and windows in machine code need NVIDIA's ptxas and nvdisasm, which come with the CUDA toolkit.",
        "Install them or name them (`--ptxas`, SPLITBAR_PTXAS, SPLITBAR_NVDISASM). `--emit asm` needs neither.",
    ),
    (
        Code::AssemblerFailed,
        "ptxas found a mistake in the PTX that splitbar made.",
        "Please report this with the module and the command line.",
    ),
    (
        Code::TooManyProblems,
        "All problems are reported in one run, up to a number that a person can still use.",
        "Fix those that are shown and run the check again.",
    ),
    // Launches on the simulator.
    (
        Code::LaunchTooLarge,
        "The simulator runs every workgroup, instruction by instruction, under every schedule, and keeps a shadow of every byte. More than its limits would take hours and gigabytes. A launch without a workgroup would find nothing because it runs nothing.",
        "Launch fewer workgroups on less data: those that show the problem. A few workgroups find what a million would.",
    ),
    // Profiles of barriers.
    (
        Code::NotAProfile,
        "A dump begins with the bytes SBSK, which the first record writes (`docs/profile.md`). Zeros in their place mean that the kernel passed no measured barrier, or that the buffer was read before it had ended.",
        "Launch the kernel that `splitbar-opt --instrument-barrier-skew` made with a buffer of zeros, and read that buffer back from its first byte on.",
    ),
    (
        Code::ProfileVersion,
        "The second word of a dump is the version of its form. The kernel that wrote this one was instrumented by another release.",
        "Instrument the module again with this release, and measure again.",
    ),
    (
        Code::TruncatedProfile,
        "The header says how many records the buffer has room for. The file has fewer bytes.",
        "Read the whole buffer back, as large as the descriptor that the kernel got.",
    ),
    (
        Code::DamagedProfile,
        "Each record has its number and a check word, and the records of one phase belong to one barrier. Something else has written to the buffer, it was not filled with zeros, or two subgroups wrote one slot of a small ring at the same time.",
        "Fill the buffer with zeros before the launch, give it room for several times the subgroups that run at once, and let nothing else write to it.",
    ),
    (
        Code::RepeatedLaunch,
        "A subgroup passes each phase once in a launch. Two records of one subgroup in one phase come from two launches, whose clocks cannot be compared.",
        "Fill the buffer with zeros before each launch, and read it back behind each.",
    ),
    (
        Code::ForeignProfile,
        "The dump has the hash of the module that was instrumented, and its records name barriers by their places in that module. The given module has another hash.",
        "Give the input of `splitbar-opt --instrument-barrier-skew`, not its output. If other passes ran in the same command, write the module between them to a file.",
    ),
    (
        Code::ProfileTarget,
        "A profile says how far apart the waves of one GPU arrive. This one names another GPU or another wave size than the code is compiled for, or its workgroups had another number of subgroups.",
        "Record the profile on the target that the code is for, with its wave size, or compile without one.",
    ),
    (
        Code::ProfileWithoutTarget,
        "The last two words of the header say on which GPU the kernel ran, and with which waves. They are zeros here: the module was instrumented without a target, or by a release before they had a meaning. Whether the profile is of the target that the code is for cannot be told.",
        "Instrument the module with `--instrument-barrier-skew=set:N,binding:N,target:GPU,wave:N`, or have the host write the two words (`docs/profile.md`).",
    ),
];

const FINDINGS: &[Text<FindingKind>] = &[
    (
        FindingKind::MissingWait,
        "The hardware returns loads later than it issues them, and the code has to wait before it uses the result. On some schedule the operation is still outstanding here.",
        "In code of splitbar this is a bug: please report it. In other code, put the wait of the right counter before the use.",
    ),
    (
        FindingKind::SharedRace,
        "Two accesses to workgroup memory conflict, and no barrier, fence or atomic orders them. The result depends on which wave is faster.",
        "Put a barrier between the two, or make both atomic. In a window of a split barrier, memory that the pair orders belongs to the others until the wait.",
    ),
    (
        FindingKind::GlobalRace,
        "Two accesses to global memory conflict, and nothing orders them: no barrier whose semantics name that memory, no release and acquire through an atomic.",
        "Name the memory in the semantics of the barrier (UniformMemory, CrossWorkgroupMemory), at a scope that holds both invocations.",
    ),
    (
        FindingKind::UninitialisedShared,
        "Workgroup memory has no initial value unless the variable has an initializer. The value that is read is left over from another kernel.",
        "Write the memory first, with a barrier before other invocations read it, or give the variable a null initializer.",
    ),
    (
        FindingKind::OutOfBounds,
        "The address is outside all buffers of the launch, or outside the workgroup or private memory of the kernel.",
        "Check the index, and the sizes of the buffers that were given to the simulator.",
    ),
    (
        FindingKind::Misaligned,
        "The instruction needs an address that is a multiple of its size. GPUs fault here, or access another address.",
        "Check the offsets and strides of the buffer's layout, and the Aligned memory operand.",
    ),
    (
        FindingKind::WriteToReadOnly,
        "The kernel's arguments and constant memory cannot be written.",
        "In code of splitbar this is a bug unless the module casts away a constant: please report it.",
    ),
    (
        FindingKind::Deadlock,
        "Every wave that is still running waits at a barrier, or polls memory that no other wave will write.",
        "Check that all waves of the scope reach each barrier: `splitbar check` finds barriers in control flow that is not uniform.",
    ),
    (
        FindingKind::BarrierMisuse,
        "A barrier object is initialised, joined, signalled or waited for in an order that the hardware does not define.",
        "In code of splitbar this is a bug: please report it. In other code, see the page of the object in `docs/simulation.md`.",
    ),
    (
        FindingKind::UnsupportedInstruction,
        "The simulator does not know the instruction, so it cannot say anything about what comes after it.",
        "Simulate another target, or report the instruction.",
    ),
    (
        FindingKind::BadProgramCounter,
        "A branch or a return goes to an address that has no instruction of the kernel.",
        "Check indirect branches and calls. In code of splitbar this is a bug: please report it.",
    ),
    (
        FindingKind::StepLimit,
        "The limit keeps endless loops from running for ever.",
        "Raise the limit if the kernel is only long; check loops that poll memory if it is not.",
    ),
    (
        FindingKind::MemoryLimit,
        "The buffers, the workgroup memory of all groups, and the simulator's own notes have a limit together.",
        "Use smaller buffers or fewer groups, or raise the limit.",
    ),
    (
        FindingKind::Trap,
        "The kernel executed a trap instruction: an assertion of its own, or code that may not be reached.",
        "Look at the condition before the trap.",
    ),
    (
        FindingKind::MatrixLanes,
        "Matrix instructions work on the registers of all lanes of a wave. Some lanes are off, or hold operands of different calls.",
        "Execute matrix operations in control flow that is uniform in the subgroup.",
    ),
    (
        FindingKind::StaleRead,
        "The value in this cache is older than what the wave has synchronised with: an acquire has to invalidate the cache first.",
        "In code of splitbar this is a bug if the semantics name the memory: please report it. Otherwise name it, at a scope that holds both.",
    ),
    (
        FindingKind::NotWrittenBack,
        "A release at the scope of the device has to write the cache back, so that other parts of the device can see the stores.",
        "Release at scope Device before the other workgroup is told. In code of splitbar that does so this is a bug: please report it.",
    ),
    (
        FindingKind::EqualWrites,
        "Compilers and programs write one value to one place by several lanes on purpose. The result is the same in every order, but the memory models of SPIR-V and of LLVM call it a race.",
        "Nothing has to be done. To get rid of the note, let one invocation write, or write by atomic stores.",
    ),
    (
        FindingKind::MissingProxyFence,
        "Bulk copies access memory through another path than threads do (PTX ISA, asynchronous proxy); only a proxy fence orders the two.",
        "In code of splitbar this is a bug: please report it. In other code, put `fence.proxy.async` between.",
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
