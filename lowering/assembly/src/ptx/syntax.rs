//! The shape of a PTX module before names and opcodes mean anything: variables, functions, and in
//! each function a flat list of statements.
//!
//! Everything borrows from the text. Blocks are flat too (an opening and a closing statement), so
//! nothing here recurses on the input.

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module<'t> {
    /// The operands of `.version`, as written.
    pub version: Option<(u64, u64)>,
    /// The first word after `.target`.
    pub target: Option<&'t str>,
    /// Variables of module scope.
    pub variables: Vec<Variable<'t>>,
    /// Functions with a body.
    pub functions: Vec<Function<'t>>,
    /// Functions that are declared only.
    pub declared: Vec<&'t str>,
}

/// A function or a kernel.
#[derive(Clone, Debug)]
pub struct Function<'t> {
    /// Its symbol.
    pub name: &'t str,
    /// The line that it begins on.
    pub line: u32,
    /// True if it is a kernel (`.entry`).
    pub entry: bool,
    /// The results: `.param` or `.reg` declarations.
    pub results: Vec<Variable<'t>>,
    /// The parameters.
    pub parameters: Vec<Variable<'t>>,
    /// `.reqntid`; omitted dimensions are 1.
    pub required: Option<[u32; 3]>,
    /// `.maxntid`; omitted dimensions are 1.
    pub most: Option<[u32; 3]>,
    /// The statements of the body.
    pub body: Vec<Statement<'t>>,
}

/// The state space of a variable.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StateSpace {
    /// `.reg`
    Register,
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'t> {
    /// The state space.
    pub space: StateSpace,
    /// Its name. With [`Variable::family`], the part before the number.
    pub name: &'t str,
    /// The line of the declaration.
    pub line: u32,
    /// The type's name, without the point.
    pub kind: &'t str,
    /// Elements of a vector type (`.v4`), or 1.
    pub vector: u32,
    /// `<N>` after a register's name: registers `name0` to `nameN-1`.
    pub family: Option<u32>,
    /// Elements of an array; 0 when the brackets are empty; `None` for no array.
    pub elements: Option<u64>,
    /// `.align`, in bytes.
    pub align: Option<u64>,
    /// `.extern`: for shared memory, an array that gets its size with the launch.
    pub external: bool,
    /// Initial values; the rest is 0.
    pub initial: Vec<Initial<'t>>,
}

/// One initial value.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Initial<'t> {
    /// Bits of the variable's type.
    Bits(u64),
    /// The bits of a single-precision number.
    Single(u32),
    /// The bits of a double-precision number.
    Double(u64),
    /// The address of a symbol plus a number; generic if so written (`generic(x)`).
    Address(&'t str, i64),
}

/// A statement of a function's body.
#[derive(Clone, Debug)]
pub struct Statement<'t> {
    /// The line that it begins on.
    pub line: u32,
    /// The kind of the statement.
    pub what: What<'t>,
}

/// The kind of a statement.
#[derive(Clone, Debug)]
pub enum What<'t> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(&'t str),
    /// `.reg`, `.shared`, `.local`, `.param` and so on.
    Variable(Variable<'t>),
    /// The text after `.loc` on its line, with the comment: the origin of the instructions up to
    /// the next `.loc`.
    Location(&'t str),
    /// `name: .branchtargets a, b;`
    BranchTargets(&'t str, Vec<&'t str>),
    /// An instruction.
    Instruction(Instruction<'t>),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction<'t> {
    /// `@p` or `@!p`: the register, and true for the negated form.
    pub guard: Option<(&'t str, bool)>,
    /// The opcode with its modifiers, as written.
    pub opcode: &'t str,
    /// The operands in order.
    pub operands: Vec<Operand<'t>>,
    /// The operands as written.
    pub text: &'t str,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'t> {
    /// A register, a variable, a label or a function, plus a number of bytes.
    Name(&'t str, i64),
    /// `!p`
    Not(&'t str),
    /// `p|q`
    Pair(&'t str, &'t str),
    /// An integer.
    Integer(u64),
    /// The bits of a single-precision number.
    Single(u32),
    /// The bits of a double-precision number.
    Double(u64),
    /// `_`
    Nothing,
    /// `[base+offset]`
    Address(Base<'t>, i64),
    /// `[base, {x, y}]`: an image and coordinates.
    Texel(Base<'t>, Vec<Operand<'t>>),
    /// `{a, b}`, or `(a, b)` of a call.
    List(Vec<Operand<'t>>),
    /// Any other form.
    Other,
}

/// The base of an address.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Base<'t> {
    /// A register or a variable.
    Name(&'t str),
    /// No base: the address is a number, which is in the offset.
    Number,
}
