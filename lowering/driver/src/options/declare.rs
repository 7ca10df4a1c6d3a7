//! The declaration of options. One declaration yields the fields and their defaults, the flags of
//! the program with their help, settings by name (C, Python), and the page docs/options.md.

/// An option with a name: a long flag of the program, and a setting of the other interfaces. `T`
/// is the structure that has its field.
pub struct OptionInfo<T: 'static> {
    /// The name, without dashes; one letter for an option such as `-O`.
    pub name: &'static str,
    /// Earlier names, which are taken but not listed.
    pub aliases: &'static [&'static str],
    /// Its heading in the help.
    pub heading: Heading,
    /// The part of a compilation that reads it first.
    pub part: Part,
    /// Returns true if it counts for LLVM IR too; else for SPIR-V alone.
    pub llvm_ir: bool,
    /// The form of its value.
    pub value: ValueForm,
    /// Its default value; `None` if no written value means the same.
    pub default: Option<&'static str>,
    /// Names of options that exclude this one.
    pub excluded_by: &'static [&'static str],
    /// One line: its effect.
    pub summary: &'static str,
    /// Further sentences; may be empty.
    pub details: &'static str,
    pub(crate) set: fn(&mut T, &str) -> Result<(), String>,
}

impl<T> OptionInfo<T> {
    /// The fields that a declaration may leave out: those of a flag of the plan.
    pub(crate) const fn new(name: &'static str) -> OptionInfo<T> {
        OptionInfo {
            name,
            aliases: &[],
            heading: Heading::Options,
            part: Part::Plan,
            llvm_ir: false,
            value: ValueForm::Flag,
            default: None,
            excluded_by: &[],
            summary: "",
            details: "",
            set: |_, _| Err("the option does nothing".to_owned()),
        }
    }

    /// The letter of an option such as `-O`; `None` for one with a long name.
    pub fn letter(&self) -> Option<char> {
        let mut letters = self.name.chars();
        letters.next().filter(|_| letters.next().is_none())
    }

    /// Returns true if `name` is its name, or an earlier one.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Takes `value` into `options`.
    ///
    /// # Errors
    /// How the value is written.
    pub fn set(&self, options: &mut T, value: &str) -> Result<(), String> {
        (self.set)(options, value)
    }
}

impl<T> std::fmt::Debug for OptionInfo<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OptionInfo").field(&self.name).finish()
    }
}

/// The headings of options in the help.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heading {
    /// Selects the code that is compiled.
    Options,
    /// How barriers are split and lowered.
    Barriers,
    /// How code is made.
    Code,
    /// Outputs, and checks of them.
    Output,
    /// The rules of SPIR-V, and messages.
    Rules,
}

impl Heading {
    /// The words of the help.
    pub fn name(self) -> &'static str {
        match self {
            Heading::Options => "Options",
            Heading::Barriers => "Barriers",
            Heading::Code => "Code",
            Heading::Output => "Output",
            Heading::Rules => "Rules and messages",
        }
    }
}

/// The part of a compilation that reads an option first. What stops before that part has no use
/// for the option.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Part {
    /// Reading and checking the module, and passes over it.
    Module,
    /// Planning how barriers are lowered.
    Plan,
    /// Making code.
    Code,
    /// Looking at the code that was made, and writing it.
    Output,
}

/// The form of the value of an option.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub enum ValueForm {
    /// `true` or `false`; the flag of the program has no value.
    Flag,
    /// One of several values, by the name that the help has for it: each with what it means.
    OneOf(&'static str, fn() -> Vec<(&'static str, &'static str)>),
    /// A text with this name in the help.
    Text(&'static str),
    /// A text that the flag of the program may leave out.
    Optional {
        /// The name of the text in the help.
        name: &'static str,
        /// The value where it is left out.
        missing: &'static str,
    },
    /// The path of a file.
    File,
}

/// A structure whose options are declared.
pub trait DeclaredOptions: Sized + 'static {
    /// The options that have names, in the order of the help.
    fn declared() -> impl Iterator<Item = &'static OptionInfo<Self>>;

    /// Options to try values on, which are thrown away.
    fn scratch() -> Option<Self>;

    /// Says how the value of `option` is written where `value` is not right.
    ///
    /// # Errors
    /// As [`OptionInfo::set`].
    fn check(option: &OptionInfo<Self>, value: &str) -> Result<(), String> {
        Self::scratch().map_or(Ok(()), |mut scratch| option.set(&mut scratch, value))
    }

    /// Sets the option `name` to `value`. Flags without a value take `true` or `false`.
    ///
    /// # Errors
    /// Which names there are, or how the value is written.
    fn set_by_name(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(option) = Self::declared().find(|option| option.is_called(name)) else {
            let mut names: Vec<&str> = Self::declared().map(|option| option.name).collect();
            names.sort_unstable();
            return Err(format!(
                "there is no option {name:?}; the options are {}",
                names.join(", ")
            ));
        };
        option
            .set(self, value)
            .map_err(|text| format!("the option {name}: {text}"))
    }
}

/// Declares a structure of options. A field is `name: Type = default;`, and after `=>` are the
/// options that set it, each with the fields of [`OptionInfo`] that it needs.
macro_rules! declare_options {
    (
        $(#[$outer:meta])*
        pub struct $Name:ident($($argument:ident: $Argument:ty)?);
        $(
            $(#[$meta:meta])*
            $field:ident: $Field:ty = $default:expr
            $(=> { $($option:literal: { $($row:tt)* })* })?;
        )*
    ) => {
        $(#[$outer])*
        pub struct $Name {
            $( $(#[$meta])* pub $field: $Field, )*
        }

        impl $Name {
            fn defaults($($argument: $Argument)?) -> $Name {
                $Name { $( $field: $default, )* }
            }

            const DECLARED: &[$crate::options::declare::OptionInfo<$Name>] = &[
                $($($(
                    $crate::options::declare::OptionInfo {
                        $($row)*
                        ..$crate::options::declare::OptionInfo::new($option)
                    },
                )*)?)*
            ];

            /// Sets the option `name` to `value`: names and values are those of the long flags of
            /// the program, and flags without a value take `true` or `false` (docs/options.md).
            ///
            /// # Errors
            /// Which names there are, or how the value is written.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                $crate::options::declare::DeclaredOptions::set_by_name(self, name, value)
            }
        }
    };
}

pub(crate) use declare_options;
