//! The fundamental types of PTX (PTX ISA, "Types"): what a modifier such as `.s32` says about an
//! operand.

/// How the bits of an element are to be read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// As bits; in arithmetic, as an unsigned number.
    Bits,
    /// As an unsigned number.
    Unsigned,
    /// In two's complement.
    Signed,
    /// As an IEEE 754 binary16 number.
    Half,
    /// As a bfloat16 number.
    Brain,
    /// As an IEEE 754 binary32 number.
    Single,
    /// As an IEEE 754 binary64 number.
    Double,
}

impl Class {
    /// Returns true if it is one of floating point.
    pub(super) fn is_float(self) -> bool {
        matches!(
            self,
            Class::Half | Class::Brain | Class::Single | Class::Double
        )
    }
}

/// A type.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// The type of an element.
    pub class: Class,
    /// Bits of an element: 1 (a predicate), 8, 16, 32, 64 or 128.
    pub element: u32,
    /// Elements: 2 for packed types such as `.f16x2`.
    pub count: u32,
}

impl Type {
    /// `.pred`
    pub(super) const PREDICATE: Type = Type::new(Class::Bits, 1);
    /// `.b32`
    pub(super) const B32: Type = Type::new(Class::Bits, 32);
    /// `.b64`
    pub(super) const B64: Type = Type::new(Class::Bits, 64);
    /// `.u32`
    pub(super) const U32: Type = Type::new(Class::Unsigned, 32);
    /// `.u64`
    pub(super) const U64: Type = Type::new(Class::Unsigned, 64);

    /// One element.
    pub(super) const fn new(class: Class, element: u32) -> Type {
        Type {
            class,
            element,
            count: 1,
        }
    }

    const fn packed(class: Class, element: u32) -> Type {
        Type {
            class,
            element,
            count: 2,
        }
    }

    /// Bits in all.
    pub(super) fn bits(self) -> u32 {
        self.element * self.count
    }

    /// Returns true if it is a number in two's complement.
    pub(super) fn is_signed(self) -> bool {
        self.class == Class::Signed
    }

    /// Returns true if it is one of floating point.
    pub(super) fn is_float(self) -> bool {
        self.class.is_float()
    }

    /// The type that a modifier names, without its point.
    pub(super) fn named(name: &str) -> Option<Type> {
        TYPES.iter().find(|(n, _)| *n == name).map(|(_, t)| *t)
    }

    /// The integer type of twice the width, for `mul.wide`.
    pub(super) fn wide(self) -> Type {
        Type {
            element: self.element * 2,
            ..self
        }
    }
}

const TYPES: &[(&str, Type)] = &[
    ("pred", Type::PREDICATE),
    ("b8", Type::new(Class::Bits, 8)),
    ("b16", Type::new(Class::Bits, 16)),
    ("b32", Type::B32),
    ("b64", Type::B64),
    ("b128", Type::new(Class::Bits, 128)),
    ("u8", Type::new(Class::Unsigned, 8)),
    ("u16", Type::new(Class::Unsigned, 16)),
    ("u32", Type::U32),
    ("u64", Type::U64),
    ("s8", Type::new(Class::Signed, 8)),
    ("s16", Type::new(Class::Signed, 16)),
    ("s32", Type::new(Class::Signed, 32)),
    ("s64", Type::new(Class::Signed, 64)),
    ("f16", Type::new(Class::Half, 16)),
    ("bf16", Type::new(Class::Brain, 16)),
    ("f32", Type::new(Class::Single, 32)),
    ("f64", Type::new(Class::Double, 64)),
    ("f16x2", Type::packed(Class::Half, 16)),
    ("bf16x2", Type::packed(Class::Brain, 16)),
    ("f32x2", Type::packed(Class::Single, 32)),
    ("u16x2", Type::packed(Class::Unsigned, 16)),
    ("s16x2", Type::packed(Class::Signed, 16)),
];
