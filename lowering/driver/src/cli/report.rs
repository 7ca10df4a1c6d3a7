//! Problems on the standard error.

use super::{Format, LowerArgs, child};
use splitbar::diagnostic::Diagnostics;
use splitbar::diagnostic::text::Colour;
use splitbar::diagnostic::{json, text};
use std::path::Path;

/// Prints problems in the form that `args` ask for.
pub fn print(problems: &Diagnostics, args: &LowerArgs) {
    show(problems, &args.input, args.diagnostics);
}

/// Prints problems about the module `input`.
pub fn show(problems: &Diagnostics, input: &Path, format: Format) {
    let rendered = match format {
        Format::Text => text::render_with(problems, &name(input), colour()),
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
