//! Barriers, mbarriers, fences, and what lanes of a warp do together.

use super::opcode::Opcode;
use super::{Decoded, Decoder, Unknown};
use crate::clock::Order;
use crate::memory::Space;
use crate::ptx::arith::{Function, Mode, integer};
use crate::ptx::operand::{Answer, Reduction, ShuffleKind};
use crate::ptx::program::{MbarrierKind, Op, Question};
use crate::ptx::types::Type;
use splitbar_assembly::ptx::syntax::Operand;

impl<'t> Decoder<'_, 't> {
    pub(super) fn synchronisation(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &[Operand<'t>],
    ) -> Decoded<()> {
        match op.root {
            "bar" | "barrier" => self.barrier(op, operands),
            "mbarrier" => self.mbarrier(op, operands),
            "fence" | "membar" => self.fence(op),
            "shfl" => self.shuffle(op, operands),
            "vote" => self.vote(op, operands),
            "nanosleep" => {
                op.kind();
                self.done(op, Op::Sleep)
            }
            _ => self.collective(op, operands),
        }
    }

    fn barrier(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        if op.flag("cluster") {
            return self.cluster(op);
        }
        if op.flag("warp") {
            let ([members], true) = (operands, op.flag("sync")) else {
                return Err(Unknown);
            };
            let members = self.word(members)?;
            return self.done(op, Op::WarpSync { members });
        }
        op.flag("cta");
        // `bar` is `barrier.aligned`.
        let aligned = op.flag("aligned") | (op.root == "bar");
        let (question, operands) = if op.flag("red") {
            let (question, rest) = self.question(op, operands)?;
            (Some(question), rest)
        } else {
            (None, operands)
        };
        let waits = op.flag("sync") || question.is_some();
        if !waits && !op.flag("arrive") {
            return Err(Unknown);
        }
        let (id, count) = match operands {
            [id] => (self.word(id)?, None),
            [id, count] => (self.word(id)?, Some(self.word(count)?)),
            _ => return Err(Unknown),
        };
        self.done(
            op,
            Op::Barrier {
                waits,
                id,
                count,
                aligned,
                question,
            },
        )
    }

    /// The first and the last operand of `barrier.red`, and those between.
    fn question<'o>(
        &mut self,
        op: &mut Opcode<'_>,
        operands: &'o [Operand<'t>],
    ) -> Decoded<(Question, &'o [Operand<'t>])> {
        let answers = [
            ("and", Answer::All),
            ("or", Answer::Any),
            ("popc", Answer::Count),
        ];
        let answer = op.one_of(&answers).ok_or(Unknown)?;
        let kind = op.kind().ok_or(Unknown)?;
        let fits = match answer {
            Answer::All | Answer::Any => kind == Type::PREDICATE,
            Answer::Count => kind == Type::U32,
        };
        let [to, between @ .., predicate] = operands else {
            return Err(Unknown);
        };
        if !fits {
            return Err(Unknown);
        }
        let question = Question {
            answer,
            to: self.destination(to)?.0,
            predicate: self.predicate(predicate)?,
        };
        Ok((question, between))
    }

    fn cluster(&mut self, op: &mut Opcode<'_>) -> Decoded<()> {
        op.flag("aligned");
        let what = if op.flag("arrive") {
            Op::ClusterArrive {
                releases: op.order() != Some(Order::Relaxed),
            }
        } else if op.flag("wait") {
            op.flag("acquire");
            Op::ClusterWait
        } else {
            return Err(Unknown);
        };
        self.done(op, what)
    }

    fn mbarrier(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let space = op.space();
        let relaxed = op.order() == Some(Order::Relaxed);
        op.scope();
        let action = op.one_of(&[
            ("init", "init"),
            ("inval", "inval"),
            ("arrive", "arrive"),
            ("arrive_drop", "arrive_drop"),
            ("test_wait", "test_wait"),
            ("try_wait", "try_wait"),
        ]);
        let action = action.ok_or(Unknown)?;
        let parity = op.flag("parity");
        let expects = op.flag("expect_tx");
        op.flag("noComplete");
        if op.kind() != Some(Type::B64) || !op.is_empty() {
            return Err(Unknown);
        }
        let (kind, address) = match (action, operands) {
            ("init", [address, count]) => (MbarrierKind::Init(self.word(count)?), address),
            ("inval", [address]) => (MbarrierKind::Invalidate, address),
            ("arrive" | "arrive_drop", operands) => {
                let (to, operands) = match operands {
                    [Operand::Address(..), ..] => (None, operands),
                    [Operand::Nothing, rest @ ..] => (None, rest),
                    [to, rest @ ..] => (Some(self.destination(to)?.0), rest),
                    [] => return Err(Unknown),
                };
                let (address, number) = match operands {
                    [address] if !expects => (address, None),
                    [address, number] => (address, Some(self.word(number)?)),
                    _ => return Err(Unknown),
                };
                let (count, bytes) = if expects {
                    (None, number)
                } else {
                    (number, None)
                };
                (
                    MbarrierKind::Arrive {
                        to,
                        count,
                        bytes,
                        drop: action == "arrive_drop",
                    },
                    address,
                )
            }
            (_, [to, address, phase]) | ("try_wait", [to, address, phase, _]) => {
                let kind = if parity { Type::B32 } else { Type::B64 };
                let phase = self.source(phase, kind)?;
                let to = self.destination(to)?.0;
                (MbarrierKind::Test { to, phase, parity }, address)
            }
            _ => return Err(Unknown),
        };
        let address = self.address(address)?;
        self.emit(Op::Mbarrier {
            kind,
            space,
            address,
            relaxed,
        });
        Ok(())
    }

    fn fence(&mut self, op: &mut Opcode<'_>) -> Decoded<()> {
        if op.flag("proxy") {
            // Aliases of an address are none here; the unit for bulk copies is a view of its own.
            if op.flag("async") {
                let spaces = [
                    ("shared::cta", Some(Space::Shared)),
                    ("shared::cluster", Some(Space::Shared)),
                    ("global", Some(Space::Global)),
                ];
                let only = op.one_of(&spaces).flatten();
                self.emit(Op::ProxyFence { only });
            }
            return Ok(());
        }
        // For clusters of several workgroups.
        if op.flag("mbarrier_init") || op.flag("sync_restrict::shared::cta") {
            return Ok(());
        }
        let order = op.order().unwrap_or(Order::AcquireRelease);
        let scope = op.scope().ok_or(Unknown)?;
        self.done(op, Op::Fence { order, scope })
    }

    fn shuffle(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let sync = op.flag("sync");
        let kind = op
            .one_of(&[
                ("up", ShuffleKind::Up),
                ("down", ShuffleKind::Down),
                ("bfly", ShuffleKind::Butterfly),
                ("idx", ShuffleKind::Index),
            ])
            .ok_or(Unknown)?;
        op.kind().filter(|kind| kind.bits() == 32).ok_or(Unknown)?;
        let (to, a, b, c, members) = match operands {
            [to, a, b, c, members] if sync => (to, a, b, c, Some(self.word(members)?)),
            [to, a, b, c] if !sync => (to, a, b, c, None),
            _ => return Err(Unknown),
        };
        let (to, valid) = self.pair(to)?;
        let to = to.ok_or(Unknown)?;
        let from = [self.word(a)?, self.word(b)?, self.word(c)?];
        self.done(
            op,
            Op::Shuffle {
                kind,
                to,
                valid,
                from,
                members,
            },
        )
    }

    fn vote(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let sync = op.flag("sync");
        let reduction = op
            .one_of(&[
                ("all", Reduction::All),
                ("any", Reduction::Any),
                ("uni", Reduction::Uniform),
                ("ballot", Reduction::Ballot),
            ])
            .ok_or(Unknown)?;
        op.kind().ok_or(Unknown)?;
        let (to, predicate, members) = match operands {
            [to, predicate, members] if sync => (to, predicate, Some(self.word(members)?)),
            [to, predicate] if !sync => (to, predicate, None),
            _ => return Err(Unknown),
        };
        let (to, _) = self.destination(to)?;
        let predicate = self.predicate(predicate)?;
        self.done(
            op,
            Op::Vote {
                reduction,
                to,
                predicate,
                members,
            },
        )
    }

    fn collective(&mut self, op: &mut Opcode<'_>, operands: &[Operand<'t>]) -> Decoded<()> {
        let sync = op.flag("sync");
        match (op.root, operands) {
            ("activemask", [to]) => {
                op.kind();
                let (to, _) = self.destination(to)?;
                self.done(op, Op::ActiveMask { to })
            }
            ("match", [to, from, members]) if sync => {
                let all = op.flag("all");
                if !all && !op.flag("any") {
                    return Err(Unknown);
                }
                let kind = op.kind().ok_or(Unknown)?;
                let (to, valid) = self.pair(to)?;
                let (from, members) = (self.source(from, kind)?, self.word(members)?);
                self.done(
                    op,
                    Op::Match {
                        all,
                        to: to.ok_or(Unknown)?,
                        valid,
                        from,
                        members,
                    },
                )
            }
            ("redux", [to, from, members]) if sync => {
                let functions: &[(&str, Function)] = &[
                    ("add", integer::add),
                    ("min", integer::min),
                    ("max", integer::max),
                    ("and", integer::and),
                    ("or", integer::or),
                    ("xor", integer::xor),
                ];
                let function = op.one_of(functions).ok_or(Unknown)?;
                let kind = op.kind().filter(|kind| !kind.is_float()).ok_or(Unknown)?;
                let (to, _) = self.destination(to)?;
                let (from, members) = (self.source(from, kind)?, self.word(members)?);
                self.done(
                    op,
                    Op::Reduce {
                        function,
                        mode: Mode::from_kind(kind),
                        to,
                        from,
                        members,
                    },
                )
            }
            ("elect", [to, members]) if sync => {
                let (to, elected) = self.pair(to)?;
                let members = self.word(members)?;
                self.done(
                    op,
                    Op::Elect {
                        to,
                        elected: elected.ok_or(Unknown)?,
                        members,
                    },
                )
            }
            _ => Err(Unknown),
        }
    }
}
