//! The body of a function: labels, declarations, and instructions with their operands.

use super::super::lex::Kind;
use super::super::syntax::{Base, Instruction, Operand, Statement, What};
use super::{Parsed, Parser};

impl<'t> Parser<'_, 't> {
    pub(super) fn body(&mut self) -> Parsed<Vec<Statement<'t>>> {
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
                    let place = self.rest_of_line();
                    self.skip_line(line);
                    What::Location(place)
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
                            what: What::Variable(variable),
                        });
                    }
                    continue;
                }
                Kind::Word(_) | Kind::Mark('@') => What::Instruction(self.instruction()?),
                _ => return Err(self.unexpected("a statement")),
            };
            body.push(Statement { line, what });
        }
    }

    /// The statement after `name:`; `None` for a directive that does not affect execution.
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
        let begin = self.peek().map(|token| token.at);
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
        // The semicolon is the last token that was taken.
        let end = self.tokens.get(self.at.wrapping_sub(1)).map(|last| last.at);
        let text = begin
            .zip(end)
            .and_then(|(begin, end)| self.text.get(begin..end));
        Ok(Instruction {
            guard,
            opcode,
            operands,
            text: text.unwrap_or("").trim_end(), // neither is missing: both were taken
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
        if offset == 0 && self.accept(',') && self.accept('{') {
            let coordinates = self.list('}')?;
            if let (Operand::List(coordinates), true) = (coordinates, self.accept(']')) {
                return Ok(Operand::Texel(base, coordinates));
            }
        }
        // What else may come.
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
