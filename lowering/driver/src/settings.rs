//! Options by name, for callers that have strings: other languages, and files of settings. The
//! names are those of the long flags of `splitbar lower`.

use crate::check::CheckOptions;
use crate::options::{Choice, NarrowBarriers, Options, SplitBarriers};
use splitbar_passes::validate::Validation;
use splitbar_plan::{FuseAt, Optimization, Placement, Waits};

/// A setting.
struct Setting {
    name: &'static str,
    /// Takes the value; else how the value is written.
    set: fn(&mut Options, &str) -> Result<(), String>,
}

/// All of them, by name.
const SETTINGS: &[Setting] = &[
    Setting {
        name: "O",
        set: |options, value| {
            const LEVELS: [(&str, Optimization); 4] = [
                ("0", Optimization::O0),
                ("1", Optimization::O1),
                ("2", Optimization::O2),
                ("3", Optimization::O3),
            ];
            set(&mut options.optimization, one_of(&LEVELS, value))
        },
    },
    Setting {
        name: "abi",
        set: |options, value| set(&mut options.abi, value.parse()),
    },
    Setting {
        name: "assume-barriers-order-all-memory",
        set: |options, value| set(&mut options.barriers_order_all_memory, flag(value)),
    },
    Setting {
        name: "audit",
        set: |options, value| set(&mut options.audit, flag(value)),
    },
    Setting {
        name: "cluster-size",
        set: |options, value| set(&mut options.cluster, size(value)),
    },
    Setting {
        name: "correctly-rounded-divide-sqrt",
        set: |options, value| set(&mut options.correctly_rounded_divide_sqrt, flag(value)),
    },
    Setting {
        name: "cu-mode",
        set: |options, value| placement(options, Placement::CuMode, value),
    },
    Setting {
        name: "entry",
        set: |options, value| set(&mut options.entry, Ok(Some(value.to_owned()))),
    },
    Setting {
        name: "fill-windows",
        set: |options, value| set(&mut options.fill_windows, number(value)),
    },
    Setting {
        name: "fuse-at",
        set: |options, value| {
            const PLACES: [(&str, FuseAt); 2] =
                [("arrive", FuseAt::Arrive), ("wait", FuseAt::Wait)];
            set(&mut options.fuse_at, one_of(&PLACES, value))
        },
    },
    Setting {
        name: "lld",
        set: |options, value| set(&mut options.lld, Ok(Some(value.into()))),
    },
    Setting {
        name: "measure",
        set: |options, value| set(&mut options.measure, flag(value)),
    },
    Setting {
        name: "narrow-barriers",
        set: |options, value| {
            const HOW: [(&str, NarrowBarriers); 3] = [
                ("never", NarrowBarriers::Never),
                ("aliased", NarrowBarriers::Aliased),
                ("declared", NarrowBarriers::Declared),
            ];
            set(&mut options.narrow_barriers, one_of(&HOW, value))
        },
    },
    Setting {
        name: "no-validate",
        set: |options, value| {
            if flag(value)? {
                options.validation = Validation::Waived;
            }
            Ok(())
        },
    },
    Setting {
        name: "no-window-guards",
        set: |options, value| set(&mut options.window_guards, flag(value).map(|no| !no)),
    },
    Setting {
        name: "promote-async-copies",
        set: |options, value| set(&mut options.promote_async_copies, flag(value)),
    },
    Setting {
        name: "ptxas",
        set: |options, value| set(&mut options.ptxas, Ok(Some(value.into()))),
    },
    Setting {
        name: "split-barriers",
        set: |options, value| {
            const WHEN: [(&str, SplitBarriers); 3] = [
                ("never", SplitBarriers::Never),
                ("auto", SplitBarriers::Auto),
                ("always", SplitBarriers::Always),
            ];
            set(&mut options.split_barriers, one_of(&WHEN, value))
        },
    },
    Setting {
        name: "stage-loop-loads",
        set: |options, value| set(&mut options.stage_loop_loads, flag(value)),
    },
    Setting {
        name: "strategy",
        set: strategy,
    },
    Setting {
        name: "subgroup-size",
        set: |options, value| set(&mut options.subgroup_size, number(value)),
    },
    Setting {
        name: "target-env",
        set: |options, value| {
            let environment = value.parse().map(Validation::Environment);
            set(&mut options.validation, environment)
        },
    },
    Setting {
        name: "tgsplit",
        set: |options, value| placement(options, Placement::ThreadgroupSplit, value),
    },
    Setting {
        name: "unroll-barrier-loops",
        set: |options, value| set(&mut options.unroll_barrier_loops, number(value)),
    },
    Setting {
        name: "waits",
        set: |options, value| {
            const KINDS: [(&str, Waits); 3] = [
                ("auto", Waits::Auto),
                ("explicit", Waits::Explicit),
                ("conservative", Waits::Conservative),
            ];
            set(&mut options.waits, one_of(&KINDS, value))
        },
    },
    Setting {
        name: "wave",
        set: |options, value| {
            const SIZES: [(&str, Option<u32>); 2] = [("32", Some(32)), ("64", Some(64))];
            set(&mut options.wave_size, one_of(&SIZES, value))
        },
    },
    Setting {
        name: "workgroup-size",
        set: |options, value| set(&mut options.workgroup_size, size(value)),
    },
];

impl Choice {
    /// What the program's `--strategy auto` is: in a build that makes no code there is nothing to
    /// balance.
    pub const AUTO: Choice = if cfg!(feature = "llvm") {
        Choice::Balanced
    } else {
        Choice::Fast
    };
}

impl Options {
    /// Sets the option `name` to `value`: names and values are those of the long flags of
    /// `splitbar lower`, `O` is the level of `-O`, and flags without a value take `true` or
    /// `false`.
    ///
    /// # Errors
    /// Which names there are, or how the value is written.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            return Err(format!(
                "there is no option {name:?}; there are {}",
                Options::names().collect::<Vec<_>>().join(", ")
            ));
        };
        (setting.set)(self, value).map_err(|text| format!("the option {name}: {text}"))
    }

    /// The names that [`Options::set`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|setting| setting.name)
    }
}

impl CheckOptions {
    /// Sets the option `name` of a check to `value`: `target-env`, `strategy`, `strict` or
    /// `assume-default-spec`, as for `splitbar check`.
    ///
    /// # Errors
    /// Which names there are, or how the value is written.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let done = match name {
            "target-env" => set(&mut self.environment, value.parse().map(Some)),
            "strategy" if value == "auto" => set(&mut self.strategy, Ok(None)),
            "strategy" => set(&mut self.strategy, value.parse().map(Some)),
            "strict" => set(&mut self.strict, flag(value)),
            "assume-default-spec" => set(&mut self.assume_default_spec, flag(value)),
            _ => {
                let names = "target-env, strategy, strict, assume-default-spec";
                return Err(format!("a check has no option {name:?}; there are {names}"));
            }
        };
        done.map_err(|text| format!("the option {name}: {text}"))
    }
}

/// Puts the value in its place.
fn set<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn one_of<T: Clone>(values: &[(&str, T)], given: &str) -> Result<T, String> {
    let found = values.iter().find(|(name, _)| *name == given);
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        format!("{given:?} is none of {}", names.join(", "))
    })
}

fn flag(value: &str) -> Result<bool, String> {
    one_of(&[("true", true), ("false", false)], value)
}

fn number(value: &str) -> Result<Option<u32>, String> {
    let number = value.parse().map(Some);
    number.map_err(|_| format!("{value:?} is not a number"))
}

fn size(value: &str) -> Result<Option<[u32; 3]>, String> {
    let numbers = value.split(',').map(|number| number.trim().parse());
    let numbers: Vec<u32> = numbers.filter_map(Result::ok).filter(|n| *n > 0).collect();
    let size = numbers
        .try_into()
        .ok()
        .filter(|_| value.matches(',').count() == 2);
    size.map(Some)
        .ok_or_else(|| format!("{value:?} is not X,Y,Z, three numbers from 1"))
}

fn placement(options: &mut Options, placement: Placement, value: &str) -> Result<(), String> {
    if flag(value)? {
        options.placement = placement;
    }
    Ok(())
}

/// A strategy, or how one is chosen.
fn strategy(options: &mut Options, value: &str) -> Result<(), String> {
    const CHOICES: [(&str, Choice); 4] = [
        ("auto", Choice::AUTO),
        ("auto=fast", Choice::Fast),
        ("auto=balanced", Choice::Balanced),
        ("auto=always-split", Choice::AlwaysSplit),
    ];
    match one_of(&CHOICES, value) {
        Ok(choice) => (options.strategy, options.choice) = (None, choice),
        Err(_) => options.strategy = Some(value.parse()?),
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{Strategy, Target};

    fn options() -> Options {
        Options::new(Target::by_name("gfx1201").unwrap())
    }

    #[test]
    fn values_are_those_of_the_command_line() {
        let mut options = options();
        for (name, value) in [
            ("O", "3"),
            ("strategy", "counter"),
            ("fill-windows", "96"),
            ("unroll-barrier-loops", "512"),
            ("stage-loop-loads", "true"),
            ("workgroup-size", "64, 1,1"),
            ("no-window-guards", "true"),
            ("abi", "descriptor-sets:16"),
            ("target-env", "vulkan1.1"),
        ] {
            options.set(name, value).unwrap();
        }
        assert_eq!(options.optimization, Optimization::O3);
        assert_eq!(options.strategy, Some(Strategy::Counter));
        assert_eq!(options.workgroup_size, Some([64, 1, 1]));
        assert!(!options.window_guards && options.stage_loop_loads);
        assert_eq!(options.fill_windows, Some(96));
        assert_eq!(options.unroll_barrier_loops, Some(512));
        options.set("strategy", "auto=fast").unwrap();
        assert_eq!((options.strategy, options.choice), (None, Choice::Fast));
    }

    #[test]
    fn wrong_ones_say_what_is_right() {
        for (name, value, says) in [
            ("poem", "1", "there is no option \"poem\""),
            ("O", "4", "none of 0, 1, 2, 3"),
            ("audit", "yes", "none of true, false"),
            ("workgroup-size", "1,2", "is not X,Y,Z"),
            ("workgroup-size", "1,2,0", "is not X,Y,Z"),
            ("workgroup-size", "1,2,3,x", "is not X,Y,Z"),
            ("fill-windows", "all", "is not a number"),
            ("strategy", "none", "no strategy is called"),
            ("target-env", "opengl", "is none of"),
        ] {
            let said = options().set(name, value).unwrap_err();
            assert!(said.contains(says), "{said}");
        }
        assert!(Options::names().is_sorted());
        let mut check = CheckOptions::default();
        check.set("strict", "true").unwrap();
        assert!(check.strict && check.set("audit", "true").is_err());
    }
}
