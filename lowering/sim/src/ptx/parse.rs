//! Tokens to the shape of a module: directives, functions, statements.
//!
//! Tolerant of what says nothing about execution (debug sections, `.pragma`, linkage, performance directives) and of operands of unknown form, so that
//! an instruction that the simulator does not know is reported when it is decoded, by name, and does not keep the rest from being read.

use super::lex::{Kind, Token};
use super::problem::Problem;
use super::syntax::{
    Base, Function, Initial, Instruction, Module, Operand, StateSpace, Statement, Variable, What,
};

type Parsed<T> = Result<T, Problem>;

/// Reads a module.
///
/// # Errors
/// The first place where the tokens are not PTX.
pub fn module<'t>(tokens: &[Token<'t>]) -> Parsed<Module<'t>> {
    let mut parser = Parser {
        tokens,
        at: 0,
        source: None,
    };
    let mut module = Module::default();
    while let Some(token) = parser.peek() {
        match token.kind {
            Kind::Word(".version") => {
                parser.at += 1;
                module.version = parser.version();
            }
            Kind::Word(".target") => {
                parser.at += 1;
                module.target = match parser.peek().map(|t| t.kind) {
                    Some(Kind::Word(name)) => Some(name),
                    _ => None,
                };
                parser.skip_line(token.line);
            }
            Kind::Word(".file" | ".loc" | ".address_size" | ".noinline") => {
                parser.skip_line(token.line)
            }
            Kind::Word(".section") => parser.skip_section()?,
            Kind::Word(".pragma" | ".alias") => parser.skip_past(';'),
            Kind::Word(
                ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" | ".global"
                | ".const" | ".shared" | ".local",
            ) => parser.declaration(&mut module)?,
            Kind::Mark(';') => parser.at += 1,
            _ => return Err(parser.unexpected("a directive")),
        }
    }
    Ok(module)
}

struct Parser<'p, 't> {
    tokens: &'p [Token<'t>],
    at: usize,
    /// Line of the `.loc` in force.
    source: Option<u32>,
}

impl<'t> Parser<'_, 't> {
    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<Kind<'t>> {
        self.tokens.get(self.at + ahead).map(|t| t.kind)
    }

    fn line(&self) -> u32 {
        self.peek()
            .or(self.tokens.last().copied())
            .map_or(0, |t| t.line)
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.peek().map(|t| t.kind) {
            None => "the end of the text".to_owned(),
            Some(Kind::Word(word)) => format!("`{word}`"),
            Some(Kind::Mark(mark)) => format!("`{mark}`"),
            Some(Kind::Text(_)) => "a string".to_owned(),
            Some(Kind::Integer(_) | Kind::Single(_) | Kind::Double(_)) => "a number".to_owned(),
        };
        Problem::syntax(self.line(), format!("{found} where {wanted} should stand"))
    }

    fn accept(&mut self, mark: char) -> bool {
        let found = self.peek_at(0) == Some(Kind::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Parsed<()> {
        if self.accept(mark) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{mark}`")))
        }
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek_at(0) == Some(Kind::Word(word));
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, what: &str) -> Parsed<&'t str> {
        match self.peek_at(0) {
            Some(Kind::Word(word)) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(what)),
        }
    }

    fn integer(&mut self) -> Parsed<u64> {
        match self.peek_at(0) {
            Some(Kind::Integer(value)) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    fn skip_line(&mut self, line: u32) {
        while self.peek().is_some_and(|t| t.line == line) {
            self.at += 1;
        }
    }

    fn skip_past(&mut self, mark: char) {
        while let Some(token) = self.peek() {
            self.at += 1;
            if token.kind == Kind::Mark(mark) {
                return;
            }
        }
    }

    fn skip_section(&mut self) -> Parsed<()> {
        self.skip_past('{');
        let mut depth = 1u32;
        while depth > 0 {
            match self.peek_at(0) {
                None => return Err(self.unexpected("`}`")),
                Some(Kind::Mark('{')) => depth += 1,
                Some(Kind::Mark('}')) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    /// `8.6`, which the lexer takes for a number with a point.
    fn version(&mut self) -> Option<(u64, u64)> {
        let token = self.peek()?;
        self.at += 1;
        let Kind::Double(bits) = token.kind else {
            return None;
        };
        let tenths = (f64::from_bits(bits) * 10.0).round() as u64;
        Some((tenths / 10, tenths % 10))
    }

    /// A function or a variable of module scope, with its linkage in front.
    fn declaration(&mut self, module: &mut Module<'t>) -> Parsed<()> {
        let mut external = false;
        loop {
            match self.peek_at(0) {
                Some(Kind::Word(".visible" | ".weak" | ".common")) => self.at += 1,
                Some(Kind::Word(".extern")) => {
                    external = true;
                    self.at += 1;
                }
                Some(Kind::Word(".entry" | ".func")) => return self.function(module),
                Some(Kind::Word(_)) => {
                    let mut variables = self.variables()?;
                    for variable in &mut variables {
                        variable.external = external;
                    }
                    module.variables.append(&mut variables);
                    return Ok(());
                }
                _ => return Err(self.unexpected("a declaration")),
            }
        }
    }

    fn function(&mut self, module: &mut Module<'t>) -> Parsed<()> {
        let line = self.line();
        let entry = self.word("`.entry` or `.func`")? == ".entry";
        while self.accept_word(".noreturn") {}
        let results = self.parameters()?;
        let name = self.word("a function's name")?;
        let parameters = self.parameters()?;
        let mut function = Function {
            name,
            line,
            entry,
            results,
            parameters,
            required: None,
            most: None,
            body: Vec::new(),
        };
        loop {
            match self.peek().map(|t| t.kind) {
                Some(Kind::Mark('{')) => break,
                Some(Kind::Mark(';')) => {
                    self.at += 1;
                    module.declared.push(name);
                    return Ok(());
                }
                Some(Kind::Word(".reqntid")) => {
                    self.at += 1;
                    function.required = Some(self.extents()?);
                }
                Some(Kind::Word(".maxntid")) => {
                    self.at += 1;
                    function.most = Some(self.extents()?);
                }
                // Other performance directives, with numbers and strings behind them.
                Some(Kind::Word(_) | Kind::Integer(_) | Kind::Text(_) | Kind::Mark(',')) => {
                    self.at += 1
                }
                _ => return Err(self.unexpected("a function's body")),
            }
        }
        self.at += 1;
        self.source = None;
        function.body = self.body()?;
        module.functions.push(function);
        Ok(())
    }

    fn extents(&mut self) -> Parsed<[u32; 3]> {
        let mut extents = [1; 3];
        for (index, extent) in extents.iter_mut().enumerate() {
            if index > 0 && !self.accept(',') {
                break;
            }
            *extent = u32::try_from(self.integer()?)
                .map_err(|_| self.unexpected("a number of threads"))?;
        }
        Ok(extents)
    }

    /// `( .param ..., .param ... )`, or nothing.
    fn parameters(&mut self) -> Parsed<Vec<Variable<'t>>> {
        let mut all = Vec::new();
        if !self.accept('(') {
            return Ok(all);
        }
        while !self.accept(')') {
            let (variable, _) = self.variable(None)?;
            all.push(variable);
            self.accept(',');
        }
        Ok(all)
    }

    /// Declarations of one type, up to their `;`.
    fn variables(&mut self) -> Parsed<Vec<Variable<'t>>> {
        let (first, template) = self.variable(None)?;
        let mut all = vec![first];
        while self.accept(',') {
            all.push(self.variable(Some(&template))?.0);
        }
        self.expect(';')?;
        Ok(all)
    }

    /// One declaration; `template` has the space and type of those before it in a list.
    fn variable(
        &mut self,
        template: Option<&Variable<'t>>,
    ) -> Parsed<(Variable<'t>, Variable<'t>)> {
        let line = self.line();
        let mut variable = match template {
            Some(template) => template.clone(),
            None => self.variable_type()?,
        };
        let template = variable.clone();
        variable.line = line;
        variable.name = self.word("a variable's name")?;
        if self.accept('<') {
            let count = self.integer()?;
            variable.family =
                Some(u32::try_from(count).map_err(|_| Problem::limit(line, "too many registers"))?);
            self.expect('>')?;
        }
        while self.accept('[') {
            let count = if self.peek_at(0) == Some(Kind::Mark(']')) {
                0
            } else {
                self.integer()?
            };
            self.expect(']')?;
            variable.elements = Some(variable.elements.unwrap_or(1).saturating_mul(count));
        }
        if self.accept('=') {
            variable.initial = self.initial()?;
        }
        Ok((variable, template))
    }

    fn variable_type(&mut self) -> Parsed<Variable<'t>> {
        let space = match self.word("a state space")? {
            ".reg" => StateSpace::Register,
            ".global" => StateSpace::Global,
            ".const" => StateSpace::Const,
            ".shared" => StateSpace::Shared,
            ".local" => StateSpace::Local,
            ".param" => StateSpace::Param,
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a state space"));
            }
        };
        let mut variable = Variable {
            space,
            name: "",
            line: 0,
            kind: "",
            vector: 1,
            family: None,
            elements: None,
            align: None,
            external: false,
            initial: Vec::new(),
        };
        // Alignment, attributes, vector, type, and what a pointer points to, in any order up to the name.
        while let Some(Kind::Word(word)) = self.peek_at(0)
            && let Some(directive) = word.strip_prefix('.')
        {
            self.at += 1;
            match directive {
                "align" => {
                    let align = self.integer()?;
                    // The first is the variable's, the second that of what a pointer parameter points to.
                    variable.align.get_or_insert(align);
                }
                "ptr" => {
                    variable.align.get_or_insert(0);
                }
                "attribute" => self.skip_past(')'),
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "global" | "const" | "shared" | "local" => {}
                _ => variable.kind = directive,
            }
        }
        variable.align = variable.align.filter(|align| *align > 0);
        if variable.kind.is_empty() {
            return Err(self.unexpected("a type"));
        }
        Ok(variable)
    }

    fn initial(&mut self) -> Parsed<Vec<Initial<'t>>> {
        let mut values = Vec::new();
        let mut depth = 0u32;
        loop {
            match self.peek_at(0) {
                Some(Kind::Mark('{')) => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                Some(Kind::Mark('}')) if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(Kind::Single(bits)) => {
                    values.push(Initial::Single(bits));
                    self.at += 1;
                }
                Some(Kind::Double(bits)) => {
                    values.push(Initial::Double(bits));
                    self.at += 1;
                }
                Some(Kind::Word("generic")) => {
                    self.at += 1;
                    self.expect('(')?;
                    let name = self.word("a symbol")?;
                    self.expect(')')?;
                    values.push(Initial::Address(name, self.offset()?));
                }
                Some(Kind::Word(name)) => {
                    self.at += 1;
                    values.push(Initial::Address(name, self.offset()?));
                }
                Some(Kind::Integer(_) | Kind::Mark('-')) => {
                    values.push(Initial::Bits(self.signed()?))
                }
                _ => return Err(self.unexpected("an initial value")),
            }
            if depth == 0 {
                // A comma that follows begins the next variable.
                return Ok(values);
            }
            self.accept(',');
        }
    }

    /// An integer with any number of signs in front, as its bits.
    fn signed(&mut self) -> Parsed<u64> {
        let mut negative = false;
        loop {
            if self.accept('-') {
                negative = !negative;
            } else if !self.accept('+') {
                break;
            }
        }
        let value = self.integer()?;
        Ok(if negative {
            value.wrapping_neg()
        } else {
            value
        })
    }

    /// `+4`, `-4`, `+-4` or nothing.
    fn offset(&mut self) -> Parsed<i64> {
        match self.peek_at(0) {
            Some(Kind::Mark('+' | '-')) => Ok(self.signed()? as i64),
            _ => Ok(0),
        }
    }

    fn body(&mut self) -> Parsed<Vec<Statement<'t>>> {
        let mut body = Vec::new();
        let mut depth = 1u32;
        loop {
            let Some(token) = self.peek() else {
                return Err(self.unexpected("`}`"));
            };
            let line = token.line;
            let what = match token.kind {
                Kind::Mark(';') => {
                    self.at += 1;
                    continue;
                }
                Kind::Mark('{') => {
                    depth += 1;
                    self.at += 1;
                    What::Open
                }
                Kind::Mark('}') => {
                    depth -= 1;
                    self.at += 1;
                    if depth == 0 {
                        return Ok(body);
                    }
                    What::Close
                }
                Kind::Word(".loc") => {
                    self.at += 1;
                    if let (Some(Kind::Integer(_)), Some(Kind::Integer(source))) =
                        (self.peek_at(0), self.peek_at(1))
                    {
                        self.source = u32::try_from(source).ok().filter(|s| *s > 0);
                    }
                    self.skip_line(line);
                    continue;
                }
                Kind::Word(".file" | ".section") => {
                    self.skip_line(line);
                    continue;
                }
                Kind::Word(".pragma") => {
                    self.skip_past(';');
                    continue;
                }
                Kind::Word(word) if self.peek_at(1) == Some(Kind::Mark(':')) => {
                    self.at += 2;
                    match self.labelled(word)? {
                        Some(what) => what,
                        None => continue,
                    }
                }
                Kind::Word(word) if word.starts_with('.') => {
                    for variable in self.variables()? {
                        body.push(Statement {
                            line,
                            source: self.source,
                            what: What::Variable(variable),
                        });
                    }
                    continue;
                }
                Kind::Word(_) | Kind::Mark('@') => What::Instruction(self.instruction()?),
                _ => return Err(self.unexpected("a statement")),
            };
            body.push(Statement {
                line,
                source: self.source,
                what,
            });
        }
    }

    /// What follows `name:`; `None` for what says nothing about execution.
    fn labelled(&mut self, name: &'t str) -> Parsed<Option<What<'t>>> {
        match self.peek_at(0) {
            Some(Kind::Word(".branchtargets")) => {
                self.at += 1;
                let mut targets = Vec::new();
                loop {
                    targets.push(self.word("a label")?);
                    if !self.accept(',') {
                        break;
                    }
                }
                self.expect(';')?;
                Ok(Some(What::BranchTargets(name, targets)))
            }
            Some(Kind::Word(".callprototype" | ".calltargets")) => {
                self.skip_past(';');
                Ok(None)
            }
            _ => Ok(Some(What::Label(name))),
        }
    }

    fn instruction(&mut self) -> Parsed<Instruction<'t>> {
        let guard = if self.accept('@') {
            let negated = self.accept('!');
            Some((self.word("a predicate")?, negated))
        } else {
            None
        };
        let opcode = self.word("an opcode")?;
        let mut operands = Vec::new();
        while !self.accept(';') {
            if self.peek().is_none() {
                return Err(self.unexpected("`;`"));
            }
            operands.push(self.operand()?);
            if !self.accept(',') && self.peek_at(0) != Some(Kind::Mark(';')) {
                // Two operands without a comma are of no form that is known here.
                operands.push(Operand::Other);
                self.skip_past(';');
                break;
            }
        }
        Ok(Instruction {
            guard,
            opcode,
            operands,
        })
    }

    fn operand(&mut self) -> Parsed<Operand<'t>> {
        match self.peek_at(0) {
            Some(Kind::Mark('{')) => {
                self.at += 1;
                self.list('}')
            }
            Some(Kind::Mark('(')) => {
                self.at += 1;
                self.list(')')
            }
            Some(Kind::Mark('[')) => {
                self.at += 1;
                self.address()
            }
            _ => self.simple(),
        }
    }

    fn list(&mut self, end: char) -> Parsed<Operand<'t>> {
        let mut all = Vec::new();
        while !self.accept(end) {
            all.push(self.simple()?);
            self.accept(',');
        }
        Ok(Operand::List(all))
    }

    fn address(&mut self) -> Parsed<Operand<'t>> {
        let base = match self.peek_at(0) {
            Some(Kind::Word(name)) => {
                self.at += 1;
                Base::Name(name)
            }
            _ => Base::Number,
        };
        let offset = match (base, self.peek_at(0)) {
            (Base::Number, Some(Kind::Integer(_) | Kind::Mark('-' | '+'))) => self.signed()? as i64,
            (Base::Name(_), _) => self.offset()?,
            (Base::Number, _) => 0,
        };
        if self.accept(']') {
            return Ok(Operand::Address(base, offset));
        }
        // Coordinates of a tensor, and what else may come.
        self.skip_past(']');
        Ok(Operand::Other)
    }

    fn simple(&mut self) -> Parsed<Operand<'t>> {
        let Some(kind) = self.peek_at(0) else {
            return Err(self.unexpected("an operand"));
        };
        Ok(match kind {
            Kind::Word("_") if self.peek_at(1) != Some(Kind::Mark('|')) => {
                self.at += 1;
                Operand::Nothing
            }
            Kind::Word(name) => {
                self.at += 1;
                if self.accept('|') {
                    Operand::Pair(name, self.word("a predicate")?)
                } else {
                    Operand::Name(name, self.offset()?)
                }
            }
            Kind::Mark('!') => {
                self.at += 1;
                Operand::Not(self.word("a predicate")?)
            }
            Kind::Integer(_) | Kind::Mark('-' | '+') => Operand::Integer(self.signed()?),
            Kind::Single(bits) => {
                self.at += 1;
                Operand::Single(bits)
            }
            Kind::Double(bits) => {
                self.at += 1;
                Operand::Double(bits)
            }
            Kind::Text(_) | Kind::Mark(_) => return Err(self.unexpected("an operand")),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::ptx::lex;
    use pretty_assertions::assert_eq;

    fn parse(text: &str) -> Parsed<Module<'_>> {
        module(&lex::tokens(text)?)
    }

    const KERNEL: &str = "\
.version 8.6
.target sm_90, debug
.address_size 64
.weak .const .align 4 .u32 guard = 1;
.extern .shared .align 16 .b8 dynamic[];
.global .align 8 .b32 table[4] = {1, -2, 3};
.extern .func  (.param .b64 func_retval0) helper
(
\t.param .b64 helper_param_0
)
;
.visible .entry k(
\t.param .u64 .ptr .global .align 1 k_param_0,
\t.param .align 16 .b8 k_param_1[12]
)
.reqntid 16, 4
{
\t.reg .pred \t%p<9>;
\t.shared .align 8 .u64 mb;
$L__BB0_0:
\t.loc\t1 8 0
\t@!%p1 bra \t$L__BB0_0;
\tld.shared.v4.b32 \t{%r1, _, %r2, %r3}, [%rd4+-256];
\tmov.b64 \t%rd1, mb+8;
\t{ // callseq 0, 0
\tcall.uni (retval0),
\thelper,
\t(
\tparam0
\t);
\t}
\t$L_brx_0: .branchtargets
\t\t$L__BB0_0,
\t\t$L__BB0_0;
\tsetp.eq.and.b32 %p1|%p2, %r1, 0f3F800000, !%p3;
\tret;
}
.section .debug_info { .b8 1, 2 }
";

    #[test]
    fn declarations() {
        let module = parse(KERNEL).unwrap();
        assert_eq!(module.version, Some((8, 6)));
        assert_eq!(module.target, Some("sm_90"));
        assert_eq!(module.declared, ["helper"]);
        let names: Vec<_> = module
            .variables
            .iter()
            .map(|v| (v.name, v.external, v.elements, v.align))
            .collect();
        assert_eq!(
            names,
            [
                ("guard", false, None, Some(4)),
                ("dynamic", true, Some(0), Some(16)),
                ("table", false, Some(4), Some(8))
            ]
        );
        assert_eq!(
            module.variables[2].initial,
            [
                Initial::Bits(1),
                Initial::Bits(2u64.wrapping_neg()),
                Initial::Bits(3)
            ]
        );
        let kernel = &module.functions[0];
        assert!(kernel.entry);
        assert_eq!(kernel.required, Some([16, 4, 1]));
        assert_eq!(kernel.parameters[1].elements, Some(12));
    }

    #[test]
    fn statements() {
        let module = parse(KERNEL).unwrap();
        let body = &module.functions[0].body;
        let instructions: Vec<_> = body
            .iter()
            .filter_map(|s| match &s.what {
                What::Instruction(i) => Some((s.line, s.source, i)),
                _ => None,
            })
            .collect();
        let (line, source, branch) = instructions[0];
        assert_eq!(
            (line, source, branch.guard),
            (22, Some(8), Some(("%p1", true)))
        );
        assert_eq!(
            instructions[1].2.operands,
            [
                Operand::List(vec![
                    Operand::Name("%r1", 0),
                    Operand::Nothing,
                    Operand::Name("%r2", 0),
                    Operand::Name("%r3", 0)
                ]),
                Operand::Address(Base::Name("%rd4"), -256)
            ]
        );
        assert_eq!(instructions[2].2.operands[1], Operand::Name("mb", 8));
        assert_eq!(instructions[3].2.operands.len(), 3);
        assert_eq!(
            instructions[4].2.operands,
            [
                Operand::Pair("%p1", "%p2"),
                Operand::Name("%r1", 0),
                Operand::Single(0x3f80_0000),
                Operand::Not("%p3")
            ]
        );
        assert!(
            body.iter()
                .any(|s| matches!(&s.what, What::BranchTargets("$L_brx_0", t) if t.len() == 2))
        );
    }

    #[test]
    fn what_is_not_ptx_is_an_error_with_its_line() {
        for (text, line) in [
            ("hello", 1),
            (".visible .entry k()\n{\n ret", 3),
            (".entry k() { 5; }", 1),
            (".entry k(.param) {}", 1),
            (".global .u32 x = ;", 1),
            ("\n.entry k() {\n .reg .b32 %r<99999999999>; }", 3),
        ] {
            assert_eq!(
                parse(text).map(|_| ()).map_err(|p| p.line),
                Err(line),
                "{text}"
            );
        }
    }
}
