//! Final assembly by lines, with the SPIR-V instructions of each line, from the same code with
//! debug lines.

use std::collections::BTreeMap;

/// The words of the SPIR-V instruction that a line came from and of the calls that it was inlined
/// through, the innermost first. Empty: no place.
pub(super) type Chain = Vec<u32>;

/// The most calls of a chain that are looked at.
const MOST_CALLS: usize = 16;

/// A function of assembly text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FunctionLines {
    /// Its symbol.
    pub(super) symbol: String,
    /// The line that its body follows: the label, or the opening brace.
    pub(super) begin: usize,
    /// The line that ends its body.
    pub(super) end: usize,
    /// The chain of each line of code of its body, by line. Without one if the code with debug
    /// lines is not the same.
    pub(super) chains: BTreeMap<usize, Chain>,
}

/// The functions of `text`, with the places that `lined` has: the same code with debug lines, whose
/// numbers are words plus 1.
pub(super) fn functions(text: &[&str], lined: &[&str], is_amd: bool) -> Vec<FunctionLines> {
    let mut functions = bodies(text, is_amd);
    let others = bodies(lined, is_amd);
    for function in &mut functions {
        let same = others.iter().find(|other| other.symbol == function.symbol);
        let Some(other) = same else {
            continue;
        };
        let body = lined.get(other.begin..other.end).unwrap_or_default();
        let places = places(body, is_amd);
        let own = text.get(function.begin + 1..function.end);
        let numbered = own.unwrap_or_default().iter().zip(function.begin + 1..);
        let own: Vec<(usize, &str)> = numbered
            .filter_map(|(line, at)| Some((at, code(line, is_amd)?)))
            .collect();
        let is_same = own.len() == places.len()
            && own.iter().zip(&places).all(|(one, other)| one.1 == other.0);
        if is_same {
            let chains = own.iter().zip(places);
            function.chains = chains.map(|((at, _), (_, chain))| (*at, chain)).collect();
        }
    }
    functions
}

/// The functions of `lines`, without places.
fn bodies(lines: &[&str], is_amd: bool) -> Vec<FunctionLines> {
    let mut bodies = Vec::new();
    let mut symbol = None;
    let mut begin = None;
    for (at, line) in lines.iter().enumerate() {
        let line = uncommented(line, is_amd);
        if is_amd {
            if let Some(announced) = line.trim().strip_prefix(".type") {
                let name = announced.trim().strip_suffix(",@function");
                symbol = name.or(symbol);
            } else if symbol.is_some() && line.trim_end().strip_suffix(':') == symbol {
                begin = Some(at);
            }
        } else if let Some(name) = ptx_symbol(line) {
            symbol = Some(name);
        } else if line.trim_end() == "{" && symbol.is_some() {
            begin = Some(at);
        }
        let is_end = if is_amd {
            line.starts_with(".Lfunc_end")
        } else {
            line.trim_end() == "}"
        };
        if is_end && let (Some(symbol), Some(begin)) = (symbol.take(), begin.take()) {
            bodies.push(FunctionLines {
                symbol: symbol.to_owned(),
                begin,
                end: at,
                chains: BTreeMap::new(),
            });
        }
    }
    bodies
}

/// The symbol of the function that a line of PTX begins.
fn ptx_symbol(line: &str) -> Option<&str> {
    if line.starts_with('\t') {
        return None; // inside of a body
    }
    if let Some((_, rest)) = line.split_once(".entry ") {
        return rest.split('(').next().map(str::trim);
    }
    let (_, rest) = line.split_once(".func ")?;
    // A result is in parentheses before the name.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1,
        None => rest,
    };
    rest.split('(').next().map(str::trim)
}

/// A line without its comment.
pub(super) fn uncommented(line: &str, is_amd: bool) -> &str {
    let mut is_quoted = false;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '"' if before != '\\' => is_quoted = !is_quoted,
            ';' if is_amd && !is_quoted => return line.get(..at).unwrap_or(line),
            '/' if !is_amd && !is_quoted && before == '/' => {
                return line.get(..at - 1).unwrap_or(line);
            }
            _ => {}
        }
        before = c;
    }
    line
}

/// What a line of a body has besides debug information; `None` if nothing.
fn code(line: &str, is_amd: bool) -> Option<&str> {
    const OF_DEBUGGERS: [&str; 7] = [
        ".loc",
        ".file",
        ".cfi_",
        ".Ltmp",
        ".Lfunc_begin",
        "$L__tmp",
        "$L__func",
    ];
    let code = uncommented(line, is_amd).trim();
    let is_debug = OF_DEBUGGERS.iter().any(|start| code.starts_with(start));
    (!code.is_empty() && !is_debug).then_some(code)
}

/// The lines of code of a body with debug lines, with their chains.
fn places<'t>(body: &[&'t str], is_amd: bool) -> Vec<(&'t str, Chain)> {
    let mut locations = Locations::default();
    let mut places = Vec::new();
    for line in body.iter().skip(1) {
        if let Some(operands) = line.trim_start().strip_prefix(".loc") {
            locations.take(operands, is_amd);
        } else if let Some(code) = code(line, is_amd) {
            locations.recent.clear();
            places.push((code, locations.chain.clone()));
        }
    }
    places
}

/// The `.loc` directives of a function so far.
#[derive(Default)]
struct Locations {
    /// The chain in force.
    chain: Chain,
    /// The chains of the directives since the last line of code, by line.
    recent: BTreeMap<u32, Chain>,
    /// The chains of all directives, by line; `None` for a line with several.
    all: BTreeMap<u32, Option<Chain>>,
}

impl Locations {
    /// Takes what follows `.loc`.
    fn take(&mut self, operands: &str, is_amd: bool) {
        let number = |text: &str, at: usize| -> Option<u32> {
            let number = text.split_whitespace().nth(at)?;
            number.trim_end_matches(',').parse().ok()
        };
        let line = number(operands, 1).unwrap_or(0);
        let outer: Chain = if is_amd {
            let calls = operands.split("@[ ").skip(1).map(|call| {
                let place = call.split([' ', ']']).next().unwrap_or_default();
                let mut numbers = place.split(':').skip(1);
                numbers.next().and_then(|line| line.parse().ok())
            });
            calls.map_while(|line: Option<u32>| line).collect()
        } else {
            let called = operands.split_once("inlined_at");
            match called.and_then(|(_, place)| number(place, 1)) {
                None => Vec::new(),
                Some(line) => {
                    let known = self.recent.get(&line).cloned();
                    known
                        .or_else(|| self.all.get(&line).cloned().flatten())
                        .unwrap_or_default()
                }
            }
        };
        let mut chain = vec![line];
        chain.extend(outer);
        chain.truncate(MOST_CALLS);
        if line > 0 {
            self.recent.insert(line, chain.clone());
            let known = self.all.entry(line).or_insert_with(|| Some(chain.clone()));
            if known.as_ref() != Some(&chain) {
                *known = None;
            }
        }
        self.chain = match line {
            0 => Vec::new(),
            _ => chain,
        };
    }
}

/// The words of a chain of lines, which are words plus 1.
pub(super) fn words(chain: &Chain) -> impl Iterator<Item = u32> + '_ {
    chain.iter().map_while(|line| line.checked_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn chains(text: &str, lined: &str, is_amd: bool) -> Vec<Chain> {
        let (text, lined): (Vec<&str>, Vec<&str>) =
            (text.lines().collect(), lined.lines().collect());
        let functions = functions(&text, &lined, is_amd);
        let chains = functions
            .iter()
            .flat_map(|function| function.chains.values());
        chains.cloned().collect()
    }

    const PLAIN: &str =
        "\t.type\tk,@function\nk:\n\tv_a\n.LBB0_1:\n\tv_b\n\ts_endpgm\n.Lfunc_end0:\n";

    #[test]
    fn calls_of_amdgpu_code_are_in_comments() {
        let lined = "\
\t.type\tk,@function
k:                                      ; @k
.Lfunc_begin0:
\t.loc\t1 5 0 prologue_end              ; module.spv:5
\tv_a
.LBB0_1:                                ; %loop
.Ltmp0:
\t.loc\t1 9 1 is_stmt 0                 ; module.spv:9:1 @[ module.spv:7 @[ module.spv:3:2 ] ]
\tv_b
\t.loc\t1 0 0
\ts_endpgm
.Lfunc_end0:
";
        let expected = [vec![5], vec![5], vec![9, 7, 3], vec![]];
        assert_eq!(chains(PLAIN, lined, true), expected);
    }

    #[test]
    fn code_that_is_not_the_same_has_no_places() {
        let other = PLAIN.replace("v_b", "v_c");
        assert_eq!(chains(PLAIN, &other, true), Vec::<Chain>::new());
    }

    #[test]
    fn calls_of_ptx_lead_to_directives_before() {
        let plain =
            ".visible .entry k(\n\t.param .u64 p\n)\n{\n\tadd;\n\tmul;\n\tsub;\n\tret;\n}\n";
        let lined = "\
.visible .entry k(
\t.param .u64 p
)
{
\t.loc\t1 8 0
\t.loc\t1 50 0, function_name $a, inlined_at 1 8 0
\t.loc\t1 90 0, function_name $b, inlined_at 1 50 0
\tadd;                                  // note
\t.loc\t1 9 0
\t.loc\t1 50 0, function_name $a, inlined_at 1 9 0
\tmul;
\t.loc\t1 91 0, function_name $b, inlined_at 1 50 0
$L__tmp0:
\tsub;
\t.loc\t1 8 0
\tret;
}
";
        // The call at 50 is one of two, and nothing says which.
        let expected = [vec![90, 50, 8], vec![50, 9], vec![91], vec![8]];
        assert_eq!(chains(plain, lined, false), expected);
    }

    #[test]
    fn comments_end_code_but_not_names() {
        assert_eq!(uncommented("\ta \"b;c\" ; d", true), "\ta \"b;c\" ");
        assert_eq!(uncommented("\ta / b // c", false), "\ta / b ");
        assert_eq!(uncommented("a", false), "a");
    }
}
