//! The table of diagnostic codes. A code is stable: it is never given a second meaning.

use super::Kind;
use std::fmt;

macro_rules! codes {
    ($($name:ident = $number:literal, $kind:ident, $summary:literal;)*) => {
        /// A stable diagnostic code, printed as `SB` and four digits.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $summary] $name,)*
        }

        impl Code {
            /// Every code, in order of number.
            pub const ALL: &'static [Code] = &[$(Code::$name),*];

            /// The four digits.
            pub fn number(self) -> u16 {
                match self { $(Code::$name => $number,)* }
            }

            /// Which kind of error it is.
            pub fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind,)* }
            }

            /// One line that says what it means.
            pub fn summary(self) -> &'static str {
                match self { $(Code::$name => $summary,)* }
            }
        }
    };
}

codes! {
    // 00xx: the binary form.
    BadMagic = 1, Invalid, "the file does not start with the SPIR-V magic number in either byte order";
    TruncatedModule = 2, Invalid, "the module ends inside its header or inside an instruction";
    BadLength = 3, Invalid, "the length in bytes is not a multiple of four";
    ZeroWordCount = 4, Invalid, "an instruction has word count 0";
    IdOutOfBound = 5, Invalid, "an id is not below the bound in the header";
    ZeroId = 6, Invalid, "an id is 0";
    UnterminatedString = 7, Invalid, "a literal string has no terminating zero byte inside its instruction";
    DuplicateId = 8, Invalid, "an id is defined twice";
    MissingOperand = 9, Invalid, "an instruction has fewer operands than its grammar asks for";
    ModuleTooLarge = 10, Limit, "the module is larger than this build accepts";
    UnsupportedVersion = 11, Invalid, "the version in the header is not a SPIR-V version";
    RspirvRefused = 12, Unsupported, "rspirv does not accept the module";

    BadAssembly = 13, Invalid, "a line of assembly text cannot be read";

    // 01xx: declarations.
    UndefinedId = 100, Invalid, "an id is used and never defined";
    WrongDefinition = 101, Invalid, "an id is defined by an instruction of another class than its use asks for";
    MalformedFunction = 102, Invalid, "function, block or terminator is missing or out of place";
    NoEntryPoint = 103, Unsupported, "the module has no entry point, so there is no kernel to lower";
    UnknownEntryPoint = 104, Invalid, "no entry point has the requested name";
    BadConstant = 105, Invalid, "a constant cannot be evaluated";
    TypeMismatch = 106, Invalid, "an operand's type is not the one that the instruction asks for";
    RecursiveCall = 107, Unsupported, "functions call each other in a circle";
    UnknownSpecId = 108, Invalid, "no specialization constant has the SpecId that was given a value";
    NestingTooDeep = 109, Limit, "types, constants or calls are nested deeper than this build accepts";
    MissingTerminator = 110, Invalid, "control leaves a block without a terminator or reaches a label that does not exist";
    TooManyDecorations = 111, Limit, "decoration groups or execution modes multiply out of proportion to the module";
    BadSpecValue = 112, Invalid, "the value that was given to a specialization constant does not fit its type";
    LinkConflict = 113, Invalid, "modules that are linked do not fit together";
    UndominatedUse = 190, Invalid, "an id is used where control can arrive without passing its definition";
    PhiParents = 191, Invalid, "the parents of an OpPhi are not the blocks that control comes from";
    MisplacedPhi = 192, Invalid, "an OpPhi does not stand at the beginning of its block, or stands in the first block";
    UndecidedScope = 195, Invalid, "the execution scope of a split barrier is known at run time only";

    // 02xx: barriers.
    BadScope = 200, Invalid, "a scope operand is not a constant or not a scope";
    BadSemantics = 201, Invalid, "a memory semantics operand is not a constant or sets more than one order";
    BadExecutionScope = 202, Invalid, "the execution scope of a split barrier is neither Workgroup nor Subgroup";
    UnsupportedExecutionScope = 203, Unsupported, "a control barrier of this execution scope has no lowering";
    FenceOutsideSplit = 204, Invalid, "a release fence after the arrive or an acquire fence before the wait orders nothing";
    WaitWithoutArrive = 205, Invalid, "a wait has no arrive before it on any path";

    // 03xx: what is not lowered.
    UnsupportedInstruction = 300, Unsupported, "the instruction is not lowered";
    UnsupportedExtendedInstruction = 301, Unsupported, "the extended instruction is not lowered";
    UnsupportedType = 302, Unsupported, "the type is not lowered";
    UnsupportedCapability = 303, Unsupported, "the capability is not lowered";
    UnsupportedBuiltIn = 304, Unsupported, "the built-in variable is not lowered";
    UnsupportedStorageClass = 305, Unsupported, "the storage class is not lowered";
    UnsupportedExecutionModel = 306, Unsupported, "the entry point is not a compute kernel";
    UnsupportedOnTarget = 307, Unsupported, "the target has no instruction for this";
    UnsupportedStrategy = 308, Unsupported, "the requested strategy cannot be used here";
    UnsupportedLinkage = 309, Unsupported, "a function is imported and no linked module exports it";
    UnsupportedMode = 310, Unsupported, "the execution mode is not lowered";
    EmptyWorkgroup = 311, Unsupported, "a dimension of the workgroup is 0, as specialization constants without a value can leave it";
    UnsupportedPrint = 312, Unsupported, "a printf has a format that is not a constant, that OpenCL C does not have, or that does not fit its arguments";
    UnsupportedAbi = 313, Unsupported, "the requested binary interface cannot hold or reach a resource of the kernel";
    UnsupportedDecoration = 370, Unsupported, "the decoration is not lowered";
    UnsupportedOperand = 371, Unsupported, "a bit of a memory operand, an image operand or a control is not lowered";
    BlockTooLarge = 380, Limit, "what is passed by value is larger than the arguments of a kernel can be";
    StackTooLarge = 381, Limit, "the variables of an invocation are larger than its stack can be";

    TensorTooLarge = 382, Limit, "a tensor has more dimensions, or an access of it more elements, than are lowered";

    // 038x: what surrounds a compilation.
    ToolFailed = 385, Unsupported, "an external program could not be used";
    WrongUsage = 386, Invalid, "the command line is wrong, or a file cannot be read or written";
    WorkerLimit = 387, Limit, "the work took more time or memory than it may";
    WorkerMissing = 388, Unsupported, "the process that does the work could not be started, or is of another release";
    LlvmMissing = 389, Unsupported, "this build of splitbar has no LLVM, which makes and reads machine code";

    // 04xx: limits of targets.
    TooMuchSharedMemory = 400, Limit, "workgroup variables and what the barrier reserves are more than the target has";
    WorkgroupTooLarge = 401, Limit, "the workgroup has more invocations than the target allows";

    // 06xx: LLVM IR that is given.
    UnreadableIr = 600, Invalid, "LLVM cannot read the module, or its verifier refuses it";
    ForeignIr = 601, Unsupported, "the LLVM module was made for another target";
    NoIrKernel = 602, Unsupported, "no kernel of the LLVM module reaches its barriers";
    BarrierOperandNotConstant = 603, Invalid, "an operand of a barrier call is not a constant";
    BarrierArguments = 604, Invalid, "a barrier is called with arguments that it does not have";
    UninlinableBarriers = 605, Unsupported, "a function with barriers cannot be inlined into the kernels";
    UnsupportedIrControlFlow = 606, Unsupported, "a kernel with split barriers branches in a way that is not followed";
    ForeignBarrier = 607, Unsupported, "a kernel with split barriers has a barrier of the target that is not planned";
    IrEndsLlvm = 608, Unsupported, "LLVM has no code for something in a module in LLVM IR";
    UnreadableIrAssembly = 609, Unsupported, "the assembly of a module in LLVM IR cannot be read";

    // 09xx: ours.
    Internal = 900, Internal, "a bug in splitbar";
    LinkerMissing = 901, Unsupported, "no linker for AMDGPU code objects was found";
    LinkerFailed = 902, Internal, "the linker found a mistake in the object";
    LlvmFailed = 903, Internal, "LLVM refused what splitbar gave it";
    MissingWait = 904, Internal, "the machine code may reach a barrier with operations outstanding that the barrier releases";
    AssemblerMissing = 905, Unsupported, "NVIDIA's assembler or disassembler was not found";
    AssemblerFailed = 906, Internal, "NVIDIA's assembler found a mistake in the code";
    MissingInvalidation = 907, Internal, "the machine code may load what a cache held before the synchronisation that a fence acquires by";
    MissingWriteBack = 908, Internal, "the machine code may leave in a cache what a fence releases";
    MissingFence = 909, Internal, "a fence of the plan is missing in PTX, or too weak there";
    NoEffectLeft = 910, Internal, "the code of a kernel does nothing that others can see, and its module does";

    TooManyProblems = 1000, Limit, "more problems than are shown";
    // 100x: declarations of split barriers.
    MissingSplitCapability = 1001, Invalid, "a split barrier is used without its capability";
    MissingSplitExtension = 1002, Invalid, "the capability for split barriers is declared without an extension that has it";
    BothSplitExtensions = 1003, Invalid, "both aliases of the split-barrier extension are declared";
    ForeignSplitExtension = 1004, Invalid, "the alias of the split-barrier extension belongs to another client API";
    SplitExecutionModel = 1005, Invalid, "an entry point that is not a compute shader or kernel reaches a split barrier";
    ControlBarrierModel = 1006, Invalid, "OpControlBarrier is reached from an execution model that has it from SPIR-V 1.3 only";
    SharedMemoryLimit = 1007, Invalid, "workgroup variables and what split barriers reserve are more than the limit";

    // 11xx: scopes.
    ScopeType = 1101, Invalid, "a scope is not a 32-bit integer";
    ScopeNotConstant = 1102, Invalid, "a scope is not a constant";
    ScopeValue = 1103, Invalid, "a scope has a value that is not a scope";
    SplitExecutionScope = 1104, Invalid, "the execution scope of a split barrier is neither Workgroup nor Subgroup";
    VulkanExecutionScope = 1105, Invalid, "an execution scope is neither Workgroup nor Subgroup";
    WorkgroupExecutionModel = 1106, Invalid, "the execution scope Workgroup is reached from an execution model without workgroups";
    VulkanMemoryScope = 1107, Invalid, "a memory scope is not one of Vulkan's";
    WorkgroupMemoryModel = 1108, Invalid, "the memory scope Workgroup is reached from an execution model without workgroups";
    SubgroupMemoryVulkan10 = 1109, Invalid, "the memory scope Subgroup is used in Vulkan 1.0 without a subgroup capability";
    QueueFamilyScope = 1110, Invalid, "the scope QueueFamily is used without Vulkan's memory model";
    DeviceScope = 1111, Invalid, "the memory scope Device is used under Vulkan's memory model without its capability";
    InvocationOrder = 1112, Invalid, "an order is asked for among one invocation";
    OpenClSplitScope = 1113, Invalid, "the execution scope of a split barrier is not Workgroup in OpenCL";
    OpenClExecutionScope = 1114, Invalid, "an execution scope is not one of OpenCL's";
    OpenClMemoryScope = 1115, Invalid, "a memory scope is not one of OpenCL's";
    OpenCl12Barrier = 1116, Invalid, "a barrier is not of the one form that OpenCL 1.2 has";
    OpenCl12Atomic = 1117, Invalid, "an atomic is not of the one form that OpenCL 1.2 has";
    ShaderCallScope = 1118, Invalid, "the memory scope ShaderCall is reached from an execution model without ray tracing";
    GroupScope = 1119, Invalid, "the execution scope of a non-uniform group instruction is not one that it can have";
    GraphicsBarrierScope = 1120, Invalid, "OpControlBarrier of another scope than Subgroup is reached from a graphics or ray tracing shader";
    TessellationMemoryScope = 1121, Invalid, "the memory scope Workgroup is reached from a tessellation control shader under the memory model GLSL450";
    OpenClImageScope = 1122, Invalid, "a barrier of OpenCL orders images with another memory scope than Workgroup";

    // 12xx: memory semantics.
    SemanticsType = 1201, Invalid, "memory semantics are not a 32-bit integer";
    SemanticsNotConstant = 1202, Invalid, "memory semantics are not a constant";
    UnknownSemanticsBits = 1203, Invalid, "memory semantics have a bit that no specification knows";
    SeveralOrders = 1204, Invalid, "memory semantics have more than one order";
    SequentiallyConsistentVulkan = 1205, Invalid, "the order SequentiallyConsistent is used in Vulkan";
    StoreAcquires = 1206, Invalid, "an atomic store acquires";
    LoadReleases = 1207, Invalid, "an atomic load releases";
    RelaxedMemoryBarrier = 1208, Invalid, "a memory barrier has no memory order";
    OrderWithoutClass = 1209, Invalid, "an order speaks of no storage class";
    ClassWithoutOrder = 1210, Invalid, "a storage class is named without a memory order";
    AvailableWithoutRelease = 1211, Invalid, "MakeAvailable stands without a release";
    VisibleWithoutAcquire = 1212, Invalid, "MakeVisible stands without an acquire";
    SemanticsNeedVulkanModel = 1213, Invalid, "semantics that belong to Vulkan's memory model are used without it";
    VolatileBarrier = 1214, Invalid, "a barrier is volatile";
    UniformMemoryCapability = 1215, Invalid, "UniformMemory is used without the Shader capability";
    ArriveOrder = 1216, Invalid, "the memory order of an arrive is not Release";
    WaitOrder = 1217, Invalid, "the memory order of a wait is not Acquire";
    UnequalReleases = 1218, Invalid, "the memory semantics Unequal of a compare-exchange release";
    UnequalStronger = 1219, Invalid, "the memory semantics Unequal of a compare-exchange are stronger than Equal";
    UnequalClasses = 1220, Invalid, "the memory semantics Equal and Unequal of a compare-exchange name different memory";
    OpenClArriveOrder = 1221, Invalid, "an arrive is not Release in OpenCL";
    OpenClWaitOrder = 1222, Invalid, "a wait is not Acquire in OpenCL";

    // 13xx: atomics and named barriers.
    AtomicResultType = 1301, Invalid, "the result of an atomic has a type that it cannot have";
    AtomicPointer = 1302, Invalid, "an atomic's pointer does not point to a value of the atomic's type";
    AtomicStorageClass = 1303, Invalid, "an atomic works in a storage class that has none";
    AtomicValueType = 1304, Invalid, "an operand of an atomic has another type than the memory";
    AtomicIntegerCapability = 1305, Invalid, "an atomic on 64-bit integers without its capability";
    AtomicFloatCapability = 1306, Invalid, "an atomic on floating-point numbers without its capability";
    NamedBarrierType = 1307, Invalid, "an operand of a named barrier has the wrong type";

    // 14xx: tensors.
    TensorType = 1401, Invalid, "a tensor type has an element type, a rank or a shape that it cannot have";
    TensorAccess = 1402, Invalid, "an operand of a tensor instruction does not fit the tensor";
    TensorOperand = 1403, Invalid, "a tensor instruction has a tensor operand that it cannot have";
    // 15xx: tensor layouts and views, and operations on all elements of cooperative matrices.
    TensorLayoutType = 1501, Invalid, "a tensor layout or a tensor view has an operand that its type cannot have";
    TensorLayoutOperand = 1502, Invalid, "an instruction that makes a tensor layout or a tensor view has the wrong operands";
    TensorTransfer = 1503, Invalid, "a load or a store through a tensor layout has an operand of the wrong type";
    TensorDecode = 1504, Invalid, "a decode function does not fit the load that names it";
    TensorLayoutCapability = 1505, Invalid, "tensor addressing is used without its capability";
    MatrixOperation = 1506, Invalid, "an operation on all elements of a cooperative matrix has operands that do not fit";
    JointMatrixOperand = 1507, Invalid, "an instruction of SPV_INTEL_joint_matrix, or one that takes its layout or operands, has operands that do not fit";
    JointMatrixCapability = 1508, Invalid, "SPV_INTEL_joint_matrix is used without its capability";

    // 16xx: images and samplers.
    SampledImage = 1601, Invalid, "OpSampledImage has operands that it cannot bring together, or its result is taken where it must not be";
    ImageOperand = 1602, Invalid, "an image operand does not go with its instruction, or has the wrong type";
    ImageSample = 1603, Invalid, "image, coordinates, reference or result of a sample do not fit together";
    ImplicitLevel = 1604, Invalid, "a level of detail comes from quads, and the entry point has none";

    // 17xx: accesses that a Boolean may leave out.
    PredicatedAccess = 1701, Invalid, "a predicated load or store has operands that do not fit";
    MaskedAccess = 1702, Invalid, "a masked gather or scatter has operands that do not fit";
    GuardedCapability = 1703, Invalid, "a predicated access, a masked access or a vector of pointers is used without its capability";

    // 20xx: run-time rules of barriers, and lints.
    NonUniformSplitBarrier = 2000, Invalid, "an arrive or a wait of scope Workgroup is not in uniform control flow, or may not be";
    UnarrivedWait = 2001, Invalid, "a wait is executed, or may be, without an arrive before it";
    RepeatedWait = 2002, Invalid, "a wait is executed, or may be, a second time for one arrive";
    RepeatedArrive = 2003, Invalid, "an arrive is executed, or may be, while an earlier one has not been waited for";
    NonUniformBarrier = 2004, Invalid, "an OpControlBarrier of scope Workgroup is not in uniform control flow, or may not be";
    DanglingArrive = 2010, Invalid, "nothing waits for an arrive";
    DisjointClasses = 2011, Invalid, "the two sides of a split barrier have no storage class in common";
    EmptyWindow = 2012, Invalid, "nothing stands between an arrive and its wait";
    BarrierInWindow = 2013, Invalid, "a control barrier stands between an arrive and its wait";
    WindowRace = 2014, Invalid, "a workgroup variable that the pair orders is read between arrive and wait";
    WindowWrite = 2015, Invalid, "a workgroup variable is written between arrive and wait, and other invocations read it after the wait";

    // 30xx: launches on the simulator; numbers below 3020 and from 3040 on are its findings.
    LaunchTooLarge = 3020, Limit, "a launch on the simulator is larger than its limits, or has no workgroup";

    // 31xx: profiles of barriers.
    NotAProfile = 3100, Invalid, "the file is not a dump of barrier clocks, or the kernel passed no measured barrier";
    ProfileVersion = 3101, Unsupported, "a dump of barrier clocks has a version that this build does not read";
    TruncatedProfile = 3102, Invalid, "a dump of barrier clocks ends too early";
    DamagedProfile = 3103, Invalid, "a dump of barrier clocks contradicts itself or its module";
    RepeatedLaunch = 3104, Invalid, "a dump of barrier clocks holds more than one launch";
    ForeignProfile = 3105, Invalid, "a dump of barrier clocks belongs to another module";
    ProfileTarget = 3106, Invalid, "a dump of barrier clocks was recorded on another target";
    ProfileWithoutTarget = 3107, Invalid, "a dump of barrier clocks does not say on which target it was recorded";
}

impl Code {
    /// Whether it speaks of what was asked for and not of the module: the tools call that wrong
    /// usage.
    pub fn is_about_request(self) -> bool {
        matches!(
            self,
            Code::UnknownEntryPoint | Code::UnknownSpecId | Code::BadSpecValue | Code::WrongUsage
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SB{:04}", self.number())
    }
}
