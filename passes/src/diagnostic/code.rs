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

            /// The kind of error.
            pub fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind,)* }
            }

            /// One line about its meaning.
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
    MissingOperand = 9, Invalid, "an instruction has fewer operands than its grammar requires";
    ModuleTooLarge = 10, Limit, "the module is larger than this build accepts";
    UnsupportedVersion = 11, Invalid, "the version in the header is not a SPIR-V version";
    RspirvRefused = 12, Unsupported, "rspirv does not accept the module";

    BadAssembly = 13, Invalid, "a line of assembly text cannot be read";

    // 01xx: declarations.
    UndefinedId = 100, Invalid, "an id is used and never defined";
    WrongDefinition = 101, Invalid, "the instruction that defines an id has the wrong class for a use of the id";
    MalformedFunction = 102, Invalid, "a function, block or terminator is missing or out of place";
    NoEntryPoint = 103, Unsupported, "the module has no entry point, so there is no kernel to lower";
    UnknownEntryPoint = 104, Invalid, "no entry point has the requested name";
    BadConstant = 105, Invalid, "a constant cannot be evaluated";
    TypeMismatch = 106, Invalid, "the type of an operand is not the type that the instruction requires";
    RecursiveCall = 107, Unsupported, "functions call each other recursively";
    UnknownSpecId = 108, Invalid, "a value was given for a SpecId that the module does not have";
    NestingTooDeep = 109, Limit, "types, constants or calls are nested deeper than this build accepts";
    MissingTerminator = 110, Invalid, "a block has no terminator, or a branch goes to a label that does not exist";
    TooManyDecorations = 111, Limit, "decoration groups or execution modes multiply out of proportion to the module";
    BadSpecValue = 112, Invalid, "the value given for a specialization constant does not fit its type";
    LinkConflict = 113, Invalid, "modules cannot be linked with each other";
    UndominatedUse = 190, Invalid, "a definition does not dominate a use of its id";
    PhiParents = 191, Invalid, "the parents of an OpPhi are not the predecessors of its block";
    MisplacedPhi = 192, Invalid, "an OpPhi is not at the start of its block, or is in the first block";
    UndecidedScope = 195, Invalid, "the execution scope of a split barrier is only known at run time";

    // 02xx: barriers.
    BadScope = 200, Invalid, "a scope operand is not a constant or not a scope";
    BadSemantics = 201, Invalid, "a memory semantics operand is not a constant or sets more than one order";
    BadExecutionScope = 202, Invalid, "the execution scope of a split barrier is neither Workgroup nor Subgroup";
    UnsupportedExecutionScope = 203, Unsupported, "a control barrier of this execution scope is not supported";
    FenceOutsideSplit = 204, Invalid, "a release fence after the arrive or an acquire fence before the wait orders nothing";
    WaitWithoutArrive = 205, Invalid, "a wait has no arrive before it on any path";

    // 03xx: unsupported features.
    UnsupportedInstruction = 300, Unsupported, "the instruction is not supported";
    UnsupportedExtendedInstruction = 301, Unsupported, "the extended instruction is not supported";
    UnsupportedType = 302, Unsupported, "the type is not supported";
    UnsupportedCapability = 303, Unsupported, "the capability is not supported";
    UnsupportedBuiltIn = 304, Unsupported, "the built-in variable is not supported";
    UnsupportedStorageClass = 305, Unsupported, "the storage class is not supported";
    UnsupportedExecutionModel = 306, Unsupported, "the entry point is not a compute kernel";
    UnsupportedOnTarget = 307, Unsupported, "the target has no instruction for this";
    UnsupportedStrategy = 308, Unsupported, "the requested strategy cannot be used here";
    UnsupportedLinkage = 309, Unsupported, "a function is imported and no linked module exports it";
    UnsupportedMode = 310, Unsupported, "the execution mode is not supported";
    EmptyWorkgroup = 311, Unsupported, "a dimension of the workgroup is 0, often because a specialization constant has no value";
    UnsupportedPrint = 312, Unsupported, "the format of a printf is not a constant, is not valid in OpenCL C, or does not match the arguments";
    UnsupportedAbi = 313, Unsupported, "the requested binary interface cannot hold or reach a resource of the kernel";
    UnsupportedDecoration = 370, Unsupported, "the decoration is not supported";
    UnsupportedOperand = 371, Unsupported, "a bit of a memory operand, an image operand or a control is not supported";
    BlockTooLarge = 380, Limit, "a value that is passed by value is larger than the kernel's arguments can be";
    StackTooLarge = 381, Limit, "the variables of an invocation are larger than its stack can be";

    TensorTooLarge = 382, Limit, "a tensor has more dimensions, or an access to it more elements, than are supported";

    // 038x: the environment of a compilation.
    ToolFailed = 385, Unsupported, "an external program could not be used";
    WrongUsage = 386, Invalid, "the command line is wrong, or a file cannot be read or written";
    WorkerLimit = 387, Limit, "the work exceeded its limit of time or memory";
    WorkerMissing = 388, Unsupported, "the worker process could not be started, or belongs to another release";
    LlvmMissing = 389, Unsupported, "this build of splitbar has no LLVM, which writes and reads machine code";

    // 04xx: limits of targets.
    TooMuchSharedMemory = 400, Limit, "the workgroup variables and the memory reserved for barriers exceed the workgroup memory of the target";
    WorkgroupTooLarge = 401, Limit, "the workgroup has more invocations than the target allows";

    // 06xx: modules in LLVM IR.
    UnreadableIr = 600, Invalid, "LLVM cannot read the module, or its verifier rejects it";
    ForeignIr = 601, Unsupported, "the LLVM module was made for another target";
    NoIrKernel = 602, Unsupported, "no kernel of the LLVM module reaches its barriers";
    BarrierOperandNotConstant = 603, Invalid, "an operand of a barrier call is not a constant";
    BarrierArguments = 604, Invalid, "a barrier is called with the wrong arguments";
    UninlinableBarriers = 605, Unsupported, "a function with barriers cannot be inlined into the kernels";
    UnsupportedIrControlFlow = 606, Unsupported, "the control flow of a kernel with split barriers is not supported";
    ForeignBarrier = 607, Unsupported, "a kernel with split barriers uses a barrier of the target that cannot be planned";
    IrEndsLlvm = 608, Unsupported, "LLVM cannot generate code for part of a module in LLVM IR";
    UnreadableIrAssembly = 609, Unsupported, "the assembly of a module in LLVM IR cannot be read";

    // 09xx: problems of splitbar and its tools.
    Internal = 900, Internal, "a bug in splitbar";
    LinkerMissing = 901, Unsupported, "no linker for AMDGPU code objects was found";
    LinkerFailed = 902, Internal, "the linker found an error in the object";
    LlvmFailed = 903, Internal, "LLVM rejected the code that splitbar generated";
    MissingWait = 904, Internal, "the machine code may reach a barrier while operations that the barrier releases are outstanding";
    AssemblerMissing = 905, Unsupported, "NVIDIA's assembler or disassembler was not found";
    AssemblerFailed = 906, Internal, "NVIDIA's assembler found an error in the code";
    MissingInvalidation = 907, Internal, "the machine code may read stale data from a cache after a fence acquires";
    MissingWriteBack = 908, Internal, "the machine code may leave data in a cache that a fence releases";
    MissingFence = 909, Internal, "a fence of the plan is missing or too weak in the PTX";
    NoEffectLeft = 910, Internal, "the code of a kernel writes no memory, but its module does";

    TooManyProblems = 1000, Limit, "more problems than are shown";
    // 100x: declarations of split barriers.
    MissingSplitCapability = 1001, Invalid, "a split barrier is used without its capability";
    MissingSplitExtension = 1002, Invalid, "the capability for split barriers is declared without its extension";
    BothSplitExtensions = 1003, Invalid, "both aliases of the split-barrier extension are declared";
    ForeignSplitExtension = 1004, Invalid, "the declared alias of the split-barrier extension belongs to another client API";
    SplitExecutionModel = 1005, Invalid, "an entry point that is not a compute shader or kernel reaches a split barrier";
    ControlBarrierModel = 1006, Invalid, "OpControlBarrier is reached from an execution model that allows it only in SPIR-V 1.3 and later";
    SharedMemoryLimit = 1007, Invalid, "the workgroup variables and the memory reserved for split barriers exceed the limit";

    // 11xx: scopes.
    ScopeType = 1101, Invalid, "a scope is not a 32-bit integer";
    ScopeNotConstant = 1102, Invalid, "a scope is not a constant";
    ScopeValue = 1103, Invalid, "a scope has a value that is not a scope";
    SplitExecutionScope = 1104, Invalid, "the execution scope of a split barrier is neither Workgroup nor Subgroup";
    VulkanExecutionScope = 1105, Invalid, "an execution scope is neither Workgroup nor Subgroup";
    WorkgroupExecutionModel = 1106, Invalid, "the execution scope Workgroup is used in an execution model without workgroups";
    VulkanMemoryScope = 1107, Invalid, "a memory scope is CrossDevice in Vulkan";
    WorkgroupMemoryModel = 1108, Invalid, "the memory scope Workgroup is used in an execution model without workgroups";
    SubgroupMemoryVulkan10 = 1109, Invalid, "the memory scope Subgroup is used in Vulkan 1.0 without a subgroup capability";
    QueueFamilyScope = 1110, Invalid, "the scope QueueFamily is used without the memory model Vulkan";
    DeviceScope = 1111, Invalid, "the memory scope Device is used under the memory model Vulkan without its capability";
    InvocationOrder = 1112, Invalid, "an instruction has a memory order, but its memory scope is Invocation";
    OpenClSplitScope = 1113, Invalid, "the execution scope of a split barrier is not Workgroup in OpenCL";
    OpenClExecutionScope = 1114, Invalid, "an execution scope is not allowed in OpenCL";
    OpenClMemoryScope = 1115, Invalid, "a memory scope does not exist in OpenCL";
    OpenCl12Barrier = 1116, Invalid, "a barrier has a scope or memory order that OpenCL 1.2 does not allow";
    OpenCl12Atomic = 1117, Invalid, "an atomic has a scope or memory order that OpenCL 1.2 does not allow";
    ShaderCallScope = 1118, Invalid, "the memory scope ShaderCallKHR is used outside of ray tracing shaders";
    GroupScope = 1119, Invalid, "the execution scope of a non-uniform group instruction is not allowed";
    GraphicsBarrierScope = 1120, Invalid, "OpControlBarrier in a graphics or ray tracing shader does not have the scope Subgroup";
    TessellationMemoryScope = 1121, Invalid, "the memory scope Workgroup is used in a tessellation control shader under the memory model GLSL450";
    OpenClImageScope = 1122, Invalid, "a barrier in OpenCL orders images with a memory scope other than Workgroup";

    // 12xx: memory semantics.
    SemanticsType = 1201, Invalid, "memory semantics are not a 32-bit integer";
    SemanticsNotConstant = 1202, Invalid, "memory semantics are not a constant";
    UnknownSemanticsBits = 1203, Invalid, "memory semantics have undefined bits";
    SeveralOrders = 1204, Invalid, "memory semantics have more than one memory order";
    SequentiallyConsistentVulkan = 1205, Invalid, "the memory order SequentiallyConsistent is used in Vulkan";
    StoreAcquires = 1206, Invalid, "an atomic store acquires";
    LoadReleases = 1207, Invalid, "an atomic load releases";
    RelaxedMemoryBarrier = 1208, Invalid, "a memory barrier has no memory order";
    OrderWithoutClass = 1209, Invalid, "memory semantics have a memory order but no storage class";
    ClassWithoutOrder = 1210, Invalid, "memory semantics have a storage class but no memory order";
    AvailableWithoutRelease = 1211, Invalid, "memory semantics include MakeAvailable but no release";
    VisibleWithoutAcquire = 1212, Invalid, "memory semantics include MakeVisible but no acquire";
    SemanticsNeedVulkanModel = 1213, Invalid, "memory semantics need the memory model Vulkan, which the module does not use";
    VolatileBarrier = 1214, Invalid, "the memory semantics of a barrier include Volatile";
    UniformMemoryCapability = 1215, Invalid, "UniformMemory is used without the Shader capability";
    ArriveOrder = 1216, Invalid, "the memory order of an arrive is not Release";
    WaitOrder = 1217, Invalid, "the memory order of a wait is not Acquire";
    UnequalReleases = 1218, Invalid, "the Unequal memory semantics of a compare-exchange include a release";
    UnequalStronger = 1219, Invalid, "the Unequal memory semantics of a compare-exchange are stronger than Equal";
    UnequalClasses = 1220, Invalid, "the Equal and Unequal memory semantics of a compare-exchange differ in storage classes, MakeVisible or Volatile";
    OpenClArriveOrder = 1221, Invalid, "the memory order of an arrive in OpenCL is not Release";
    OpenClWaitOrder = 1222, Invalid, "the memory order of a wait in OpenCL is not Acquire";

    // 13xx: atomics and named barriers.
    AtomicResultType = 1301, Invalid, "an atomic does not support the type of its result";
    AtomicPointer = 1302, Invalid, "the pointer of an atomic does not point to the atomic's type";
    AtomicStorageClass = 1303, Invalid, "the storage class of an atomic's pointer does not support atomics";
    AtomicValueType = 1304, Invalid, "an operand of an atomic does not have the type of the result";
    AtomicIntegerCapability = 1305, Invalid, "an atomic uses 64-bit integers without the capability Int64Atomics";
    AtomicFloatCapability = 1306, Invalid, "an atomic uses floating-point values without its capability";
    NamedBarrierType = 1307, Invalid, "an operand of a named barrier has the wrong type";

    // 14xx: tensors.
    TensorType = 1401, Invalid, "the element type, rank or shape of a tensor type is not valid";
    TensorAccess = 1402, Invalid, "an operand of a tensor instruction does not match the tensor";
    TensorOperand = 1403, Invalid, "a tensor instruction has a tensor operand that is not allowed";
    // 15xx: tensor layouts and views, and operations on all elements of cooperative matrices.
    TensorLayoutType = 1501, Invalid, "an operand of the type of a tensor layout or tensor view is not valid";
    TensorLayoutOperand = 1502, Invalid, "an instruction that creates a tensor layout or a tensor view has wrong operands";
    TensorTransfer = 1503, Invalid, "an operand of a load or store through a tensor layout has the wrong type";
    TensorDecode = 1504, Invalid, "a decode function does not match the load that uses it";
    TensorLayoutCapability = 1505, Invalid, "tensor addressing is used without its capability";
    MatrixOperation = 1506, Invalid, "the operands of an operation on all elements of a cooperative matrix do not match";
    JointMatrixOperand = 1507, Invalid, "an instruction that uses SPV_INTEL_joint_matrix has wrong operands";
    JointMatrixCapability = 1508, Invalid, "SPV_INTEL_joint_matrix is used without its capability";

    // 16xx: images and samplers.
    SampledImage = 1601, Invalid, "the operands of OpSampledImage are wrong, or its result is used where it is not allowed";
    ImageOperand = 1602, Invalid, "an image operand is not allowed, or has the wrong type";
    ImageSample = 1603, Invalid, "the image, coordinates, depth reference or result of a sample do not match";
    ImplicitLevel = 1604, Invalid, "an implicit level of detail needs quads, which the entry point does not have";

    // 17xx: predicated and masked accesses.
    PredicatedAccess = 1701, Invalid, "the operands of a predicated load or store do not match";
    MaskedAccess = 1702, Invalid, "the operands of a masked gather or scatter do not match";
    GuardedCapability = 1703, Invalid, "a predicated access, a masked access or a vector of pointers is used without its capability";

    // 20xx: run-time rules of barriers, and lints.
    NonUniformSplitBarrier = 2000, Invalid, "an arrive or a wait of scope Workgroup is not, or may not be, in uniform control flow";
    UnarrivedWait = 2001, Invalid, "a wait is, or may be, executed without an arrive before it";
    RepeatedWait = 2002, Invalid, "a wait is, or may be, executed a second time for one arrive";
    RepeatedArrive = 2003, Invalid, "an arrive is, or may be, executed again without a wait for the earlier arrive";
    NonUniformBarrier = 2004, Invalid, "an OpControlBarrier of scope Workgroup is not, or may not be, in uniform control flow";
    DanglingArrive = 2010, Invalid, "an arrive has no wait";
    DisjointClasses = 2011, Invalid, "the arrive and the wait of a split barrier have no storage class in common";
    EmptyWindow = 2012, Invalid, "the window of a split barrier is empty";
    BarrierInWindow = 2013, Invalid, "an OpControlBarrier is in the window of a split barrier";
    WindowRace = 2014, Invalid, "a workgroup variable that a split barrier orders is read in its window";
    WindowWrite = 2015, Invalid, "a workgroup variable is written in a window and read by other invocations after the wait";

    // 30xx: launches on the simulator; numbers below 3020 and from 3040 on are its findings.
    LaunchTooLarge = 3020, Limit, "a launch on the simulator exceeds its limits, or has no workgroup";

    // 31xx: profiles of barriers.
    NotAProfile = 3100, Invalid, "the file is not a dump of barrier clocks, or the kernel executed no measured barrier";
    ProfileVersion = 3101, Unsupported, "this build does not support the version of a dump of barrier clocks";
    TruncatedProfile = 3102, Invalid, "a dump of barrier clocks is truncated";
    DamagedProfile = 3103, Invalid, "a dump of barrier clocks contradicts itself or its module";
    RepeatedLaunch = 3104, Invalid, "a dump of barrier clocks has records of more than one launch";
    ForeignProfile = 3105, Invalid, "a dump of barrier clocks belongs to another module";
    ProfileTarget = 3106, Invalid, "a dump of barrier clocks was recorded on another target";
    ProfileWithoutTarget = 3107, Invalid, "a dump of barrier clocks does not record its target";
}

impl Code {
    /// Returns true if the code is about the request and not about the module. The tools report
    /// such a code as wrong usage.
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
