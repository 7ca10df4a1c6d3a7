//! The protocol between a worker and its owner: frames of a length and a message in MessagePack.
//!
//! The worker greets with a line of text, which has its release. The owner sends requests. For each
//! the worker sends events as the work goes on, and one reply.

use super::bytes::Bytes;
use super::product::Product;
use super::source::Source;
use crate::{Artefact, Options, Stage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use splitbar_passes::diagnostic::Diagnostics;
use std::io::{self, Read, Write};

/// A module to compile, and what is wanted of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) source: Source,
    pub(crate) options: Options,
    pub(crate) products: Vec<Product>,
    /// True if the stages' artefacts are wanted as they come.
    pub(crate) artefacts: bool,
}

/// What the worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A stage begins.
    Begin(Stage),
    /// A stage has produced something.
    Produced(Artefact, Bytes),
    /// The products, in the order of the request, and warnings. The last event of a request.
    Done(Vec<Bytes>, Diagnostics),
    /// Why there are none. The last event of a request.
    Failed(Diagnostics),
}

/// What a worker's first line begins with; its release follows. Every release can read it, whatever
/// the form of its messages is.
const GREETING: &str = "splitbar worker ";

/// The most bytes that are read in search of that line's end.
const LONGEST_GREETING: usize = 64;

/// This release, whose messages those of others may differ from.
pub(super) const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Writes the greeting.
///
/// # Errors
/// That the other end is closed.
pub(super) fn greet(to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{GREETING}{RELEASE}")?;
    to.flush()
}

/// Reads the greeting.
///
/// # Errors
/// The release of a worker that has another one; `None` for a program that does not greet. A stream
/// that ends at once is no error: the process has died.
pub(super) fn greeted(from: &mut impl Read) -> Result<(), Option<String>> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < LONGEST_GREETING && from.read_exact(&mut byte).is_ok() && byte != *b"\n" {
        line.extend(byte);
    }
    let line = String::from_utf8_lossy(&line);
    match line.strip_prefix(GREETING) {
        Some(RELEASE) => Ok(()),
        Some(other) => Err(Some(other.to_owned())),
        None if line.is_empty() => Ok(()),
        None => Err(None),
    }
}

/// Writes one message.
///
/// # Errors
/// That the other end is closed.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = rmp_serde::to_vec(message).map_err(io::Error::other)?;
    to.write_all(&(text.len() as u64).to_le_bytes())?;
    to.write_all(&text)?;
    to.flush()
}

/// Reads one message; `None` at the end of the stream.
///
/// # Errors
/// A stream that ends inside a message, or that holds something else.
pub(crate) fn receive<M: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<M>> {
    let mut length = [0; 8];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u64::from_le_bytes(length);
    let mut text = Vec::new();
    // Grows with what comes, whatever the length promises.
    if from.take(length).read_to_end(&mut text)? as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    rmp_serde::from_slice(&text)
        .map(Some)
        .map_err(io::Error::other)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::{
        AbiForm, AbiTable, DescriptorPlace, Optimization, Reach, Strategy, TableArgument, Target,
    };
    use pretty_assertions::assert_eq;
    use splitbar_passes::diagnostic::{
        Code, Diagnostic, SourcePosition, Span, WitnessStep, WordOffset,
    };

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let mut problem = Diagnostic::error(Code::WaitWithoutArrive, "message")
            .at_word(WordOffset::new(7))
            .at_operand(2)
            .because("why")
            .vuid("VUID-x")
            .help("do this")
            .passing(WitnessStep::at(WordOffset::new(9), "here"));
        problem.location.marked = Some(Span { start: 1, end: 2 });
        problem.location.source = Some(SourcePosition {
            file: "a.comp".to_owned(),
            line: 3,
            column: 5,
            end: None,
            text: None,
            inlined_at: Vec::new(),
        });
        let mut options = Options::new(Target::by_name("gfx1100").unwrap());
        options.strategy = Some(Strategy::Counter);
        options.optimization = Optimization::O3;
        options.spec.0.insert(3, u64::MAX);
        options.abi = AbiForm::Table(AbiTable {
            arguments: vec![TableArgument { set: Some(1) }],
            bindings: vec![Reach {
                set: 1,
                binding: 2,
                argument: 0,
                descriptor: Some(DescriptorPlace {
                    loads: vec![8],
                    offset: 32,
                    length: None,
                }),
            }],
            stride: 16,
        });
        let request = Request {
            source: Source::new(
                vec![vec![0, 255], vec![1]],
                [
                    "1=true",
                    "2=-3",
                    "3=0xffffffffffffffff",
                    "4=1e300",
                    "5=170141183460469231731687303715884105727",
                ]
                .map(|setting| setting.parse().unwrap())
                .to_vec(),
            ),
            options,
            products: vec![Product::Assembly, Product::Reflect],
            artefacts: true,
        };
        let mut stream = Vec::new();
        send(&mut stream, &request).unwrap();
        send(&mut stream, &Event::Failed(problem.clone().into())).unwrap();
        let mut from = stream.as_slice();
        let arrived: Request = receive(&mut from).unwrap().unwrap();
        assert_eq!(format!("{arrived:?}"), format!("{request:?}"));
        match receive(&mut from).unwrap().unwrap() {
            Event::Failed(problems) => assert_eq!(problems, problem.into()),
            other => panic!("{other:?}"),
        }
        assert!(receive::<Event>(&mut from).unwrap().is_none());
        let mut greeting = Vec::new();
        greet(&mut greeting).unwrap();
        assert_eq!(greeted(&mut greeting.as_slice()), Ok(()));
        assert_eq!(greeted(&mut b"".as_slice()), Ok(()));
        let older = "splitbar worker 0.0.1\n";
        assert_eq!(greeted(&mut older.as_bytes()), Err(Some("0.0.1".into())));
        assert_eq!(greeted(&mut stream.as_slice()), Err(None));
        for wrong in [&stream[..20], &[9, 0, 0, 0, 0, 0, 0, 0, 1], &[u8::MAX; 16]] {
            assert!(receive::<Request>(&mut &*wrong).is_err(), "{wrong:?}");
        }
    }
}
