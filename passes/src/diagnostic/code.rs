//! The table of diagnostic codes. A code is stable: it is never given a second meaning.

use super::Kind;
use std::fmt;

macro_rules! codes {
    ($($name:ident = $number:literal, $kind:ident, $summary:literal;)*) => {
        /// A stable diagnostic code, printed as `SB` and four digits.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

    // 01xx: declarations.
    UndefinedId = 100, Invalid, "an id is used and never defined";
    WrongDefinition = 101, Invalid, "an id is defined by an instruction of another class than its use asks for";
    MalformedFunction = 102, Invalid, "function, block or terminator is missing or out of place";
    NoEntryPoint = 103, Unsupported, "the module has no entry point, so there is no kernel to lower";
    UnknownEntryPoint = 104, Invalid, "no entry point has the name that was asked for";
    BadConstant = 105, Invalid, "a constant cannot be evaluated";
    TypeMismatch = 106, Invalid, "an operand's type is not the one that the instruction asks for";
    RecursiveCall = 107, Unsupported, "functions call each other in a circle";
    UnknownSpecId = 108, Invalid, "no specialization constant has the SpecId that was given a value";
    NestingTooDeep = 109, Limit, "types, constants or calls are nested deeper than this build accepts";
    MissingTerminator = 110, Invalid, "control leaves a block without a terminator or reaches a label that does not exist";
    TooManyDecorations = 111, Limit, "decoration groups or execution modes multiply out of proportion to the module";

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
    UnsupportedStrategy = 308, Unsupported, "the strategy that was asked for cannot be used here";
    UnsupportedLinkage = 309, Unsupported, "a function is imported and its module is not there";
    UnsupportedMode = 310, Unsupported, "the execution mode is not lowered";

    // 04xx: limits of targets.
    TooMuchSharedMemory = 400, Limit, "workgroup variables and what the barrier reserves are more than the target has";
    WorkgroupTooLarge = 401, Limit, "the workgroup has more invocations than the target allows";

    // 09xx: ours.
    Internal = 900, Internal, "a bug in splitbar";
    LinkerMissing = 901, Unsupported, "no linker for AMDGPU code objects was found";
    LinkerFailed = 902, Internal, "the linker refused the object";
    LlvmFailed = 903, Internal, "LLVM refused what splitbar gave it";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SB{:04}", self.number())
    }
}
