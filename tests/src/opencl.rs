//! The results of the kernels of `fixtures/opencl`, computed on the host: each function returns the
//! output buffer for an input buffer.

/// Words of the input and of the output buffer.
pub const WORDS: usize = 1152;
/// Workgroups.
pub const GROUPS: usize = 2;
/// Invocations of a workgroup.
pub const GROUP: usize = 64;

/// A kernel: the name of its source, and its result.
pub type Kernel = (&'static str, fn(&[u32]) -> Vec<u32>);

/// All kernels.
pub const KERNELS: [Kernel; 15] = [
    ("atomics", atomics),
    ("control", |words| each(words, control)),
    ("conversions", |words| each(words, conversions)),
    ("copies", copies),
    ("generic", |words| each(words, generic)),
    ("groups", groups),
    ("integers", |words| each(words, integers)),
    ("numbers", |words| each(words, numbers)),
    ("printing", printing),
    ("printing_window", printing),
    ("program_scope", |words| each(words, program_scope)),
    ("sorting", sorting),
    ("structures", |words| each(words, structures)),
    ("vectors", |words| each(words, vectors)),
    ("wide", |words| each(words, wide)),
];

/// Number of characters at the start of a line that name the invocation which prints it.
pub const LINE_NUMBER: usize = 3;

/// The output of a kernel, if it prints: lines in the order of the invocations, and in program
/// order for each invocation.
pub fn lines(kernel: &str, words: &[u32]) -> Option<Vec<String>> {
    let print: fn(&[u32], usize) -> Vec<String> = match kernel {
        "printing" => printed,
        "printing_window" => printed_around,
        _ => return None,
    };
    Some((0..GROUPS * GROUP).flat_map(|i| print(words, i)).collect())
}

/// The words that every kernel reads.
pub fn input() -> Vec<u32> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..WORDS).map(|_| next()).collect()
}

/// The output of invocations that each write `N` words side by side.
fn each<const N: usize>(words: &[u32], kernel: fn(&[u32], usize) -> [u32; N]) -> Vec<u32> {
    (0..GROUPS * GROUP).flat_map(|i| kernel(words, i)).collect()
}

/// The word of the invocation that mirrors `i` in its workgroup.
fn mirrored(words: &[u32], i: usize) -> u32 {
    words[i / GROUP * GROUP + GROUP - 1 - i % GROUP]
}

fn printing(words: &[u32]) -> Vec<u32> {
    (0..GROUPS * GROUP).map(|i| mirrored(words, i)).collect()
}

fn printed(words: &[u32], i: usize) -> Vec<String> {
    let (a, other) = (words[i], mirrored(words, i));
    let s = a as i32;
    // `#` puts a 0 before the digits of an octal number, but for 0 itself.
    let octal = match a & 0x1ff {
        0 => "0".to_owned(),
        low => format!("0{low:o}"),
    };
    let mut lines = vec![format!(
        "{i:03}: {s} {:+} {a:08x} {octal} {} {:5}|{:<5}| {} {} {} {} {} %",
        a >> 20,
        char::from(b'a' + (a % 26) as u8),
        a & 0xff,
        a & 0xfff,
        u64::from(a) << 8,
        -i64::from(a),
        a as i8,
        a as u8,
        (a >> 8) as i16,
    )];
    let f = (s / 65536) as f32 / 16.0;
    lines.push(format!(
        "{i:03}: {f:.4} {:9.2}|{f:.1},{:.1},{:.1},0.0",
        f * 0.5,
        -f,
        f + 1.0
    ));
    if a & 1 == 1 {
        let [x, y, z, w] = a.to_le_bytes();
        lines.push(format!(
            "{i:03}: {x:x},{y:x},{z:x},{w:x} {},{} {a:#x},{other:#x},0x7 odd {}",
            other as i16,
            (other >> 16) as i16,
            if a & 2 == 2 { "twice" } else { "once" }
        ));
    }
    lines.extend((0..a & 3).map(|k| format!("{i:03}: turn {k}")));
    lines
}

fn printed_around(words: &[u32], i: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if words[i] & 1 == 1 {
        lines.push(format!("{i:03}: arrived with {:x}", words[i]));
    }
    lines.push(format!("{i:03}: the other has {}", mirrored(words, i)));
    lines
}

fn program_scope(words: &[u32], i: usize) -> [u32; 4] {
    let a = words[i];
    let word = [&b"arrive\0"[..], b"window\0", b"wait\0"][a as usize % 3];
    let (key, value, tag) = [(5, 11, b'n'), (9, 19, b'p')][a as usize >> 4 & 1];
    [
        u32::from(word[0]) << 8 | u32::from(word[a as usize >> 8 & 3]),
        [20, 30, 40][a as usize % 3],
        value * 1000 + key,
        u32::from(tag),
    ]
}

fn vectors(words: &[u32], i: usize) -> [u32; 4] {
    let a = &words[8 * i..8 * i + 8];
    let mut b = [words[3 * i + 1], words[3 * i + 2], words[3 * i + 3]];
    let halves: Vec<u32> = a.iter().flat_map(|w| [w & 0xffff, w >> 16]).collect();
    let folded: Vec<u32> = (0..8)
        .map(|k| (halves[2 * k] + halves[2 * k + 1]) & 0xffff)
        .collect();
    let less: Vec<bool> = (0..4).map(|k| a[k] < a[k + 4]).collect();
    (b[2], b[0]) = (b[0].wrapping_add(1), b[1].wrapping_add(2));
    std::array::from_fn(|k| {
        let picked = a[a[k] as usize & 7];
        let both = a[[7, 0, a[4] as usize & 7, 2][k]];
        let chosen = a[2 * k + usize::from(less[k])];
        let masked = a[k] & !0x00ff_00ff | a[k + 4] & 0x00ff_00ff;
        let mut r = picked
            .wrapping_mul(3)
            .wrapping_add(both)
            .wrapping_add(chosen)
            .wrapping_add(masked);
        r = match b.get(k) {
            Some(more) => r.wrapping_add(*more),
            None => r
                .wrapping_add(if less.contains(&true) { 1000 } else { 0 })
                .wrapping_add(if less.contains(&false) { 0 } else { 2000 }),
        };
        r ^ (folded[k] + folded[k + 4])
    })
}

/// The float next to the number `n` in a direction: -1 down, 0 towards zero, 1 up.
fn toward(n: i64, direction: i32) -> u32 {
    let nearest = n as f32;
    let exact = f64::from(nearest);
    let float = match direction {
        0 if exact.abs() > (n as f64).abs() && n > 0 => nearest.next_down(),
        0 if exact.abs() > (n as f64).abs() => nearest.next_up(),
        -1 if exact > n as f64 => nearest.next_down(),
        1 if exact < n as f64 => nearest.next_up(),
        _ => nearest,
    };
    float.to_bits()
}

fn conversions(words: &[u32], i: usize) -> [u32; 8] {
    let s = words[i] as i32;
    let f = (s >> 8) as f32 / 16.0;
    let byte = |v: i32| v.clamp(0, 255) as u32;
    [
        byte(s >> 20) | byte(s >> 22) << 8 | byte(s >> 24) << 16 | byte(-(s >> 20)) << 24,
        f.round_ties_even() as i32 as u32 ^ (f.trunc() as i32 as u32) << 1,
        f.ceil() as i32 as u32 ^ (f.floor() as i32 as u32) << 1,
        (i32::from(f as i16) as u32).wrapping_add(f as u32),
        toward(i64::from(s), 0) ^ toward(i64::from(words[i]), 1) ^ toward(i64::from(s), -1),
        (words[i] as f32).to_bits(),
        i32::from(f.round_ties_even() as i8) as u32 & 0xffff,
        ((i64::from(s).max(0) as u64 >> 8) as u32).wrapping_add(words[i] & 0xffff),
    ]
}

fn integers(words: &[u32], i: usize) -> [u32; 8] {
    let (a, b) = (words[i], words[i + 128]);
    let (s, t) = (a as i32, b as i32);
    let (wa, wb, ws, wt) = (u64::from(a), u64::from(b), i64::from(s), i64::from(t));
    let high = ((wa * wb) >> 32) as u32;
    let clamp32 = |v: i64| v.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    let low24 = |v: u32| v & 0xff_ffff;
    [
        high.wrapping_add(((ws * wt) >> 32) as u32)
            .wrapping_add(high.wrapping_add(a)),
        a.rotate_left(b & 31)
            ^ (a >> (b & 31)).leading_zeros()
            ^ (a << (b & 15)).trailing_zeros() << 8
            ^ a.count_ones() << 16,
        ((wa + wb) >> 1) as u32
            ^ ((wa + wb + 1) >> 1) as u32
            ^ ((ws + wt) >> 1) as u32
            ^ ((ws + wt + 1) >> 1) as u32,
        s.abs_diff(t)
            .wrapping_add(a.abs_diff(b))
            .wrapping_add(s.unsigned_abs()),
        a.saturating_add(b)
            ^ a.saturating_sub(b)
            ^ s.saturating_add(t) as u32
            ^ s.saturating_sub(t) as u32,
        low24(a)
            .wrapping_mul(low24(b))
            .wrapping_add(a)
            .wrapping_add((s >> 8).wrapping_mul(t >> 8) as u32)
            .wrapping_add(u32::try_from(wa * u64::from(b & 3) + wa).unwrap_or(u32::MAX))
            .wrapping_add(clamp32((ws * wt).saturating_add(ws)) as u32),
        ((a & 0xffff) << 16 | b & 0xffff).wrapping_add(((ws << 32 | i64::from(b)) >> 16) as u32),
        (s.clamp(-5000, 100_000) as u32)
            .wrapping_add(a.max(b))
            .wrapping_add(i32::from((s as i16).min(t as i16)) as u32)
            .wrapping_add((ws * wt % 1_000_003) as u32),
    ]
}

fn structures(words: &[u32], i: usize) -> [u32; 3] {
    let at = i + (words[i] & 3) as usize;
    let (a, b) = (words[at], words[at + 1]);
    let weight = a
        .wrapping_add(b.wrapping_mul(2))
        .wrapping_add(i32::from(a as i16) as u32)
        .wrapping_add(i32::from((b >> 16) as i16) as u32)
        .wrapping_add(a.wrapping_add((words[i + 1] % 3).wrapping_mul(b)));
    let record = words[i + words[i] as usize % 3];
    let mut bytes = words[i].to_le_bytes();
    bytes[words[i] as usize >> 4 & 3] = 0xee;
    [
        weight,
        (record & 0xff)
            .wrapping_add((record ^ 0x5a5a_5a5a).wrapping_mul(7))
            .wrapping_add(7),
        u32::from_le_bytes(bytes) ^ 0x1234_0000,
    ]
}

fn generic(words: &[u32], i: usize) -> [u32; 2] {
    let a = words[i];
    let first = i & !3;
    let (values, kind): ([u32; 4], u32) = match a % 3 {
        0 => (std::array::from_fn(|k| words[i + k]), 1),
        1 => (std::array::from_fn(|k| words[first + k].wrapping_add(1)), 2),
        _ => ([a, words[i + 1], a ^ words[i + 1], 99], 3),
    };
    let sum = values
        .iter()
        .fold(0_u32, |sum, v| sum.wrapping_mul(31).wrapping_add(*v));
    [sum, kind]
}

/// The input of each workgroup.
fn slices(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    words.chunks(GROUP).take(GROUPS)
}

fn atomics(words: &[u32]) -> Vec<u32> {
    let mut out = vec![0_u32; 66];
    for (group, slice) in slices(words).enumerate() {
        for word in slice {
            out[group * 16 + (word & 15) as usize] += 1;
            out[64] += word & 7;
            out[65] ^= word;
        }
        out[32 + group] = 5 + slice.iter().map(|w| w & 0xff).sum::<u32>();
        out[34 + 2 * group] = slice.iter().copied().min().unwrap_or(u32::MAX);
        out[35 + 2 * group] = slice.iter().copied().max().unwrap_or(0);
    }
    out
}

fn groups(words: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    for slice in slices(words) {
        let highest = slice.iter().max().copied().unwrap_or(0);
        let lowest = slice.iter().min().copied().unwrap_or(0);
        let votes = u32::from(slice.iter().all(|w| *w != 7)) * 2
            + u32::from(slice.iter().any(|w| w & 63 == 3));
        let (mut sum, mut low, mut most) = (0_u32, 0_u32, i32::MIN);
        for word in slice {
            sum = sum.wrapping_add(*word);
            most = most.max(*word as i32);
            out.extend([
                sum ^ highest,
                low.wrapping_add(lowest),
                slice[37].wrapping_add(most as u32),
                votes + 63 * 64 / 2,
            ]);
            low += word & 0xffff;
        }
    }
    out
}

fn copies(words: &[u32]) -> Vec<u32> {
    let value = |group: usize, l: usize| {
        words[group * GROUP + GROUP - 1 - l]
            .wrapping_add(words[group * GROUP + 2 * l].wrapping_mul(3))
    };
    (0..GROUPS * GROUP)
        .map(|i| value(i / GROUP, i % GROUP))
        .collect()
}

fn sorting(words: &[u32]) -> Vec<u32> {
    slices(words)
        .flat_map(|slice| {
            let mut sorted = slice.to_vec();
            sorted.sort_unstable();
            sorted
        })
        .collect()
}

fn control(words: &[u32], i: usize) -> [u32; 3] {
    let a = words[i];
    let switched = match a & 7 {
        1 => 11,
        2 => 10,
        3 => 100,
        7 => 1005,
        _ => 5,
    };
    let (mut n, mut steps) = (a & 0xffff | 1, 0);
    while n != 1 {
        steps += 1;
        if steps > 100 {
            break;
        }
        n = if n & 1 == 1 {
            n.wrapping_mul(3).wrapping_add(1)
        } else {
            n >> 1
        };
    }
    let (mut k, mut s) = (a >> 28, 0_u32);
    let mut skip = a & 16 != 0;
    loop {
        if !skip {
            s = s.wrapping_add(k);
        }
        skip = false;
        s = s.wrapping_mul(3).wrapping_add(1);
        let more = k > 3;
        k = k.wrapping_sub(1);
        if !more {
            break;
        }
    }
    [switched, steps << 8 | n & 0xff, s]
}

fn wide(words: &[u32], i: usize) -> [u32; 4] {
    let x = u64::from(words[i]) << 32 | u64::from(words[i + 1]);
    let y = u64::from(words[i + 2]) << 8 | 1;
    let s = x as i64;
    let high = ((u128::from(x) * u128::from(y)) >> 64) as u64;
    let r = (x / y)
        .wrapping_add(x % y)
        .wrapping_add(high)
        .wrapping_add((s / -1_000_003) as u64)
        .wrapping_add((s % 977) as u64);
    let mut v = [
        0x736f_6d65_7073_6575 ^ x,
        0x646f_7261_6e64_6f6d ^ y,
        0x6c79_6765_6e65_7261 ^ x,
        0x7465_6462_7974_6573 ^ y,
    ];
    for _ in 0..3 {
        let [mut a, mut b, mut c, mut d] = v;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        v = [a, b, c, d];
    }
    let hash = v.iter().fold(0, |h, v| h ^ v);
    [
        r as u32,
        (r >> 32) as u32,
        (hash >> (x & 31)) as u32,
        ((s >> (words[i] & 63)) as u32)
            .wrapping_add(x.count_ones())
            .wrapping_add(y.leading_zeros()),
    ]
}

/// The value of the half-precision number nearest to `f`, which is one between 0.5 and 65536 (IEEE
/// 754: 11 significant bits, ties to even).
fn through_half(f: f32) -> f32 {
    let step = (f.to_bits() >> 23) as i32 - 127 - 10;
    let rounded = (f64::from(f) / 2_f64.powi(step)).round_ties_even() * 2_f64.powi(step);
    if rounded >= 65520.0 {
        f32::INFINITY
    } else {
        rounded as f32
    }
}

fn numbers(words: &[u32], i: usize) -> [u32; 6] {
    let f = (words[i] as i32 >> 6) as f32 / 1024.0;
    let g = (words[i + 1] & 0xffff) as f32 + 0.5;
    let exponent = if f == 0.0 {
        0
    } else {
        (f.to_bits() >> 23 & 0xff) as i32 - 126
    };
    let neighbour = if f < g { g.next_down() } else { g.next_up() };
    [
        (f.floor() + g.ceil()).to_bits() ^ f.trunc().to_bits(),
        f.round_ties_even().to_bits() ^ f.round().to_bits() << 1,
        (f % g).to_bits() ^ g.copysign(f).to_bits() ^ f.mul_add(3.0, g).to_bits(),
        (f * 8.0).to_bits() ^ exponent as u32 ^ ((g.to_bits() >> 23) as i32 - 127) as u32,
        (f - f.trunc()).copysign(f).to_bits()
            ^ f.trunc().max(g).to_bits()
            ^ neighbour.to_bits()
            ^ if g > f { g - f } else { 0.0 }.to_bits(),
        through_half(g).to_bits()
            ^ if f < g { 0x55 } else { 0 }
            ^ if f.is_sign_negative() { 0xaa00 } else { 0 },
    ]
}
