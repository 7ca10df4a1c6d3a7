//! docs/options.md is what the options' declarations say.

use crate::command::Cli;
use clap::CommandFactory;
use expect_test::expect_file;
use splitbar::{CheckOptions, DeclaredOptions, OptionInfo, Options, ValueForm};
use std::fmt::Write;

const HEAD: &str = "\
# Options

This page describes the options of a compilation and of a check, in every interface. An option has one
declaration in the library, and one name: of its flag in the program, of the setting in C
(`\"name=value\"`), and of the keyword in Python (with `_` for `-`). In Rust, `Options::set` sets an option
by name and value; the documentation of `Options` describes each field. The defaults are the same in all
interfaces. A flag has no value in the program, and `true` or `false` in the others.

Specialization constants have separate interfaces: `--spec ID=VALUE` in the program, `spec=ID=VALUE` in C,
`spec=` in Python.

This page is generated from the declarations: `UPDATE_EXPECT=1 cargo test -p splitbar-cli page`.
";

/// The commands that have a flag for an option of a compilation.
const COMMANDS: [&str; 5] = ["lower", "lower-ir", "sim", "advise", "model"];

#[test]
fn the_page_lists_all() {
    let mut text = HEAD.to_owned();
    text += "\n## Of a compilation\n\n";
    table::<Options>(&mut text, &COMMANDS);
    text += "\n## Of a check\n\n";
    table::<CheckOptions>(&mut text, &["check"]);
    expect_file!["../../../../docs/options.md"].assert_eq(&text);
}

fn table<T: DeclaredOptions>(text: &mut String, commands: &[&str]) {
    *text += "| option | values | without it | what it does | commands |\n|---|---|---|---|---|\n";
    for option in T::declared() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            option.name,
            values(option),
            option.default.map_or("", |default| default),
            sentences(option),
            commands_with(option.name, commands).join(", "),
        );
    }
}

fn values<T>(option: &OptionInfo<T>) -> String {
    match option.value {
        ValueForm::OneOf(_, values) => {
            let values = values().into_iter().map(|(value, _)| format!("`{value}`"));
            values.collect::<Vec<_>>().join(", ")
        }
        ValueForm::Text(name) => name.to_owned(),
        ValueForm::Optional { name, .. } => format!("{name}, may be left out in the program"),
        ValueForm::File => "a path".to_owned(),
        _ => "flag".to_owned(),
    }
}

fn sentences<T>(option: &OptionInfo<T>) -> String {
    match option.details {
        "" => format!("{}.", option.summary),
        details => format!("{}. {details}", option.summary),
    }
}

fn commands_with<'c>(option: &str, commands: &[&'c str]) -> Vec<&'c str> {
    let program = Cli::command();
    let has = |command: &&&str| {
        let command = program.find_subcommand(command);
        command.is_some_and(|command| command.get_arguments().any(|arg| arg.get_id() == option))
    };
    commands.iter().filter(has).copied().collect()
}

/// What the declarations give as the value without the option is the value without it.
#[test]
#[expect(clippy::unwrap_used, reason = "a test")]
fn defaults_are_true() {
    let without = serde_json::to_string(&Options::scratch().unwrap()).unwrap();
    for option in Options::declared() {
        // A program or a binding begins with this choice.
        let Some(default) = option.default.filter(|_| option.name != "strategy") else {
            continue;
        };
        let mut with = Options::scratch().unwrap();
        option.set(&mut with, default).unwrap();
        let with = serde_json::to_string(&with).unwrap();
        assert_eq!(with, without, "{} {default}", option.name);
    }
}

/// Every value that an option offers is one that it takes, in every command.
#[test]
fn values_are_taken() {
    for option in Options::declared() {
        if let ValueForm::OneOf(_, values) = option.value {
            for (value, _) in values() {
                assert_eq!(Options::check(option, value), Ok(()), "{}", option.name);
            }
        }
    }
    for option in CheckOptions::declared() {
        if let ValueForm::OneOf(_, values) = option.value {
            for (value, _) in values() {
                assert_eq!(
                    CheckOptions::check(option, value),
                    Ok(()),
                    "{}",
                    option.name
                );
            }
        }
    }
}

/// Earlier names of options and of other flags are taken, and not listed.
#[test]
#[expect(clippy::unwrap_used, reason = "a test")]
fn earlier_names_are_taken() {
    let earlier = Options::declared().flat_map(|option| {
        let names = option.aliases.iter();
        names.map(move |earlier| ("lower", *earlier, option.name, option.default))
    });
    let others = [("sim", "print-capacity", "printf-buffer-size", Some("8"))];
    let mut count = 0;
    for (command, earlier, now, value) in earlier.chain(others) {
        let program = Cli::command();
        let command = program.find_subcommand(command).unwrap();
        let mut arguments = command.get_arguments();
        let flag = arguments.find(|arg| arg.get_long() == Some(now)).unwrap();
        assert!(flag.get_all_aliases().unwrap().contains(&earlier), "{now}");
        assert!(
            flag.get_visible_aliases().is_none_or(|all| all.is_empty()),
            "{now}"
        );
        if command.get_name() == "lower" {
            let (mut by_earlier, mut by_now) =
                (Options::scratch().unwrap(), Options::scratch().unwrap());
            let value = value.unwrap_or(if now == "wavefront-size" {
                "32"
            } else {
                "true"
            });
            by_earlier.set(earlier, value).unwrap();
            by_now.set(now, value).unwrap();
            let json = |options| serde_json::to_string(options).unwrap();
            assert_eq!(json(&by_earlier), json(&by_now));
        }
        count += 1;
    }
    assert_eq!(count, 4);
}
