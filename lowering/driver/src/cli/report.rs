//! Problems on the standard error.

use super::{Format, LowerArgs, child};
use splitbar::diagnostic::Diagnostics;
use splitbar::diagnostic::text::Colour;
use splitbar::diagnostic::{json, text};
use std::path::Path;

/// Prints problems in the form that `args` ask for.
pub fn print(problems: &Diagnostics, args: &LowerArgs) {
    let rendered = match args.diagnostics {
        Format::Text => text::render_with(problems, &name(&args.input), colour()),
        Format::Json => json::render(problems),
    };
    eprint!("{rendered}");
}

fn name(input: &Path) -> String {
    if input == Path::new("-") {
        "<standard input>".to_owned()
    } else {
        input.display().to_string()
    }
}

fn colour() -> Colour {
    if child::in_colour() {
        Colour::On
    } else {
        Colour::Off
    }
}
