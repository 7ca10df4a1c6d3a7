//! Tokens to the shape of a module: directives, functions, statements.
//!
//! Tolerant of what says nothing about execution (debug sections, `.pragma`, linkage, performance
//! directives) and of operands of unknown form, so that an unknown instruction
//! can be reported by name and does not keep the rest from being read.

mod declaration;
mod statement;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use super::error::SyntaxError;
use super::lex::{self, Kind, Token};
use super::syntax::Module;

type Parsed<T> = Result<T, SyntaxError>;

/// Reads a module.
///
/// # Errors
/// The first place where the text is not PTX.
pub fn module(text: &str) -> Parsed<Module<'_>> {
    let tokens = lex::tokens(text)?;
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
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
    text: &'t str,
    tokens: &'p [Token<'t>],
    at: usize,
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

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let found = match self.peek().map(|t| t.kind) {
            None => "the end of the text".to_owned(),
            Some(Kind::Word(word)) => format!("`{word}`"),
            Some(Kind::Mark(mark)) => format!("`{mark}`"),
            Some(Kind::Text(_)) => "a string".to_owned(),
            Some(Kind::Integer(_) | Kind::Single(_) | Kind::Double(_)) => "a number".to_owned(),
        };
        SyntaxError::new(self.line(), format!("{found} where {wanted} should stand"))
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

    /// The text from the next token to the end of its line, comments included.
    fn rest_of_line(&self) -> &'t str {
        let rest = self.peek().and_then(|token| self.text.get(token.at..));
        rest.and_then(|rest| rest.lines().next()).unwrap_or("") // the end of the text
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

    /// `8.6`, which the lexer reads as a floating-point number.
    fn version(&mut self) -> Option<(u64, u64)> {
        let token = self.peek()?;
        self.at += 1;
        let Kind::Double(bits) = token.kind else {
            return None;
        };
        let tenths = (f64::from_bits(bits) * 10.0).round() as u64;
        Some((tenths / 10, tenths % 10))
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
}
