//! Functions and variables, with their types and initial values.

use super::super::error::SyntaxError;
use super::super::lex::Kind;
use super::super::syntax::{Function, Initial, Module, StateSpace, Variable};
use super::{Parsed, Parser};

impl<'t> Parser<'_, 't> {
    /// A function or a variable of module scope, with its linkage in front.
    pub(super) fn declaration(&mut self, module: &mut Module<'t>) -> Parsed<()> {
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
    pub(super) fn variables(&mut self) -> Parsed<Vec<Variable<'t>>> {
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
            variable.family = Some(
                u32::try_from(count).map_err(|_| SyntaxError::new(line, "too many registers"))?,
            );
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
        // Alignment, attributes, vector, type, and what a pointer points to, in any order up to the
        // name.
        while let Some(Kind::Word(word)) = self.peek_at(0)
            && let Some(directive) = word.strip_prefix('.')
        {
            self.at += 1;
            match directive {
                "align" => {
                    let align = self.integer()?;
                    // The first is the variable's, the second that of what a pointer parameter
                    // points to.
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
}
