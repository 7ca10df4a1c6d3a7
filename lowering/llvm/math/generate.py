#!/usr/bin/env python3
"""Makes math.bc from the libm crate (README.md says why and how). Needs cargo and the LLVM 22 tools (llvm-link, opt, llvm-as); set LLVM_SUFFIX to
what follows their names ("-22" if unset). Nothing but the person who changes the library runs this."""
import glob, os, re, subprocess, sys, tempfile

LIBM = "=0.2.16"
SUFFIX = os.environ.get("LLVM_SUFFIX", "-22")
HERE = os.path.dirname(os.path.abspath(__file__))
WORK = tempfile.mkdtemp()

MANIFEST = f"""[package]
name = "m"
version = "0.1.0"
edition = "2024"
[workspace]
[dependencies]
libm = {{ version = "{LIBM}", default-features = false }}
[profile.release]
panic = "abort"
opt-level = 2
codegen-units = 1
lto = false
overflow-checks = false
debug = false
"""


def path(name):
    return os.path.join(WORK, name)


def read(name):
    with open(path(name)) as f:
        return f.read()


def write(name, text):
    os.makedirs(os.path.dirname(path(name)), exist_ok=True)
    with open(path(name), "w") as f:
        f.write(text)


def tool(name, *args):
    subprocess.run([name + SUFFIX, *args], cwd=WORK, check=True)


def wrappers():
    """One exported function per library function and width: sb_NAME_f32, sb_NAME_f64."""
    u1="acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 lgamma log log10 log1p log2 sin sinh tan tanh tgamma".split()
    u2="atan2 hypot nextafter pow remainder".split()
    o=['//!','#![no_std]']
    for f in u1:
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_{f}_f64(x:f64)->f64{{libm::{f}(x)}}')
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_{f}_f32(x:f32)->f32{{libm::{f}f(x)}}')
    for f in u2:
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_{f}_f64(x:f64,y:f64)->f64{{libm::{f}(x,y)}}')
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_{f}_f32(x:f32,y:f32)->f32{{libm::{f}f(x,y)}}')
    for t,s in(('f64',''),('f32','f')):
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_lgamma_sign_{t}(x:{t})->i32{{libm::lgamma{s}_r(x).1}}')
        o.append(f'#[unsafe(no_mangle)] pub extern "C" fn sb_remquo_bits_{t}(x:{t},y:{t})->i32{{libm::remquo{s}(x,y).1}}')
    write('src/lib.rs','\n'.join(o)+'\n')


def compile_crates():
    """Both crates to LLVM IR that no pass has touched, linked into all.ll."""
    write("Cargo.toml", MANIFEST)
    flags = "--emit=llvm-ir -C no-prepopulate-passes -C codegen-units=1 -C debuginfo=0 -C panic=abort"
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=WORK, check=True, env={**os.environ, "RUSTFLAGS": flags, "CARGO_TARGET_DIR": path("target")})
    parts = [glob.glob(path(f"target/release/deps/{crate}-*.ll"))[0] for crate in ("libm", "m")]
    tool("llvm-link", "-S", "-o", "all.ll", *parts)


def use_intrinsics():
    """Software square roots, roundings and fused products give way to LLVM's; panics that cannot happen become unreachable."""
    s=read('all.ll')
    M={'sqrt':('sqrt',1),'floor':('floor',1),'ceil':('ceil',1),'trunc':('trunc',1),'rint':('rint',1),'round':('round',1),'roundeven':('roundeven',1),'fabs':('fabs',1),'copysign':('copysign',2),'fma':('fma',3),'scalbn':('ldexp',9),'ldexp':('ldexp',9)}
    decls=set()
    def repl(m):
        head,name,body=m.group(1),m.group(2),m.group(0)
        k=None
        mm=re.match(r'_ZN4libm4math\d+(\w+?)\d+(\w+?)17h[0-9a-f]{16}E$',name)
        if mm and 'generic' not in name:
            y=mm.group(2); y=y.lstrip('0123456789')
            k=y if y in M else (y[:-1] if y.endswith('f') and y[:-1] in M else None)
        mm=re.search(r'float_traits\.\.Float\$GT\$\d+(copysign|fma|abs)17h',name)
        if mm: k={'copysign':'copysign','fma':'fma','abs':'fabs'}[mm.group(1)]
        if '14rem_pio2_large5floor' in name: k='floor'
        if k is None: return body
        t='double' if re.search(r'\(double',head) else 'float'
        intr,n=M[k]
        tn='f64' if t=='double' else 'f32'
        if n==9:
            decls.add(f'declare {t} @llvm.{intr}.{tn}.i32({t}, i32)')
            return f'define internal {t} {name_q(m)}({t} %x, i32 %y) {{\n  %r = call {t} @llvm.{intr}.{tn}.i32({t} %x, i32 %y)\n  ret {t} %r\n}}\n'
        args=', '.join(f'{t} %x{i}' for i in range(n))
        decls.add(f'declare {t} @llvm.{intr}.{tn}({", ".join([t]*n)})')
        return f'define internal {t} {name_q(m)}({args}) {{\n  %r = call {t} @llvm.{intr}.{tn}({args})\n  ret {t} %r\n}}\n'
    def name_q(m):
        n=m.group(2); return '@"'+n+'"' if '$' in n else '@'+n
    s=re.sub(r'^(define [^\n]*?@"?([^"( ]+)"?\([^\n]*\{)\n.*?^\}\n',repl,s,flags=re.M|re.S)
    # panics cannot happen: the tables are indexed within bounds
    def panic(m): return m.group(0)
    s=re.sub(r'^declare (void @_RN[^\n(]*\([^\n]*\)) unnamed_addr #\d+\n',lambda m:'define internal '+re.sub(r'noalias|noundef|nonnull|readonly|captures\([^)]*\)|dereferenceable\(\d+\)|align \d+|,\s*read_provenance\)','',m.group(1)).replace('  ',' ')+' {\n unreachable\n}\n',s,flags=re.M)
    s=re.sub(r' personality ptr @rust_eh_personality','',s); s=re.sub(r'^declare .*rust_eh_personality.*\n','',s,flags=re.M)
    s=re.sub(r'^  resume .*','  unreachable',s,flags=re.M)
    s=re.sub(r'^target .*\n','',s,flags=re.M)
    have=set(re.findall(r'^declare [^\n]*@(llvm\.[\w.]+)\(',s,flags=re.M))
    for d in sorted(decls):
        if re.search(r'@(llvm\.[\w.]+)\(',d).group(1) not in have: s+=d+'\n'
    s=s.replace('load volatile','load').replace('store volatile','store')
    write('all2.ll',s)
    names=re.findall(r'@(sb_\w+)\(',s)
    api=','.join(sorted(set(names)))
    tool("opt", "-S", "all2.ll", "-o", "lib.ll", "-internalize-public-api-list=" + api, "-inline-threshold=60",
         "-passes=internalize,globaldce,inline,sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,function(gvn,adce,simplifycfg,instcombine<no-verify-fixpoint>),deadargelim,globaldce")


def for_gpus():
    """Tables to global memory (address space 1), stack slots to address space 5, host attributes away."""
    s=read('lib.ll')
    strs=[]
    def stash(m):
        strs.append(m.group(0)); return f'STR{len(strs)-1}Z'
    s=re.sub(r'c"[^"]*"',stash,s)
    # names
    names=set(re.findall(r'@(?:"([^"]+)"|([-\w.$]+))',s))
    ren={}
    used=set()
    for q,p in sorted(names):
        n=q or p
        if n.startswith('llvm.') or n.startswith('sb_'): continue
        if n.startswith('_RN'): base='sb.unreachable.'+re.findall(r'\d+([a-z_]+)$',n)[-1]
        else:
            m=re.match(r'_ZN4libm4math(.*)17h[0-9a-f]{16}E$',n)
            if m:
                parts=re.findall(r'\d+([A-Za-z_0-9]*?)(?=\d+[A-Za-z_]|$)',m.group(1)); base='sb.'+re.sub(r'^\d+','',m.group(1).replace(' ',''))
                # mangled path: take length-prefixed pieces
                t=m.group(1);ps=[]
                while t:
                    k=re.match(r'(\d+)',t)
                    if not k: break
                    # length digits may be followed by name starting with digit? no
                    l=int(k.group(1)); t=t[len(k.group(1)):]; ps.append(t[:l]); t=t[l:]
                base='sb.'+'.'.join(ps[-2:] if len(ps)>1 and ps[-1]!=ps[-2] else ps[-1:])
            elif 'float_traits' in n: base='sb.'+re.search(r'\$(?:u20\$)?f(32|64)',n.replace('LT$','')).group(0).strip('$').replace('u20$','')+'.'+re.search(r'\$GT\$\d+(\w+?)17h',n).group(1)
            elif n.startswith('alloc_') or n.startswith('anon.'): base='sb.table'
            else: base='sb.x'
        b=base;i=1
        while b in used: b=f'{base}.{i}'; i+=1
        used.add(b); ren[n]=b
    def r(m):
        n=m.group(1) or m.group(2)
        return '@'+ren[n] if n in ren else m.group(0)
    s=re.sub(r'@(?:"([^"]+)"|([-\w.$]+))',r,s)
    # constants in global memory
    tables=re.findall(r'^@([\w.]+) = (?:private|internal)',s,flags=re.M)
    T=set(tables)
    s=re.sub(r'^(@[\w.]+) = (?:private|internal)(?: unnamed_addr)? constant',r'\1 = internal unnamed_addr addrspace(1) constant',s,flags=re.M)
    s=re.sub(r'\bptr @([\w.]+)',lambda m: f'ptr addrspacecast (ptr addrspace(1) @{m.group(1)} to ptr)' if m.group(1) in T else m.group(0),s)
    # the same for constant expressions: getelementptr inbounds (... ptr @x ...) handled above
    # stack
    s=re.sub(r'^  (%[\w.]+) = alloca ([^,\n]+), align (\d+)$',r'  \1.stack = alloca \2, align \3, addrspace(5)\n  \1 = addrspacecast ptr addrspace(5) \1.stack to ptr',s,flags=re.M)
    s=re.sub(r'^  call void @llvm\.lifetime\.[^\n]*\n','',s,flags=re.M)
    s=re.sub(r'^declare [^\n]*llvm\.lifetime[^\n]*\n','',s,flags=re.M)
    # attributes, metadata, comments
    s=re.sub(r' #\d+( \{)?$',lambda m:m.group(1) or '',s,flags=re.M)
    s=re.sub(r' #\d+(?=,|$)','',s,flags=re.M)
    s=re.sub(r'^attributes .*\n','',s,flags=re.M)
    s=re.sub(r', ![\w.]+ !\d+','',s); s=re.sub(r'^!.*\n','',s,flags=re.M)
    s=re.sub(r'^;.*\n','',s,flags=re.M); s=re.sub(r'\s+; preds = .*','',s)
    s=re.sub(r'^source_filename.*\n','',s,flags=re.M)
    s=re.sub(r'\b(noundef|dead_on_unwind|writable|nonnull|dereferenceable\(\d+\)|unnamed_addr(?! addrspace)) ?','',s)
    s=re.sub(r'captures\([^)]*\) ?','',s)
    s=re.sub(r'sret\(\[\d+ x i8\]\) ?','',s)
    s=re.sub(r'\bnoalias ?','',s); s=re.sub(r'\b(readonly|writeonly) ?','',s)
    s=re.sub(r'\bptr align \d+ ','ptr ',s)
    s=re.sub(r'^define (?:internal |dso_local )?',r'define internal ',s,flags=re.M)
    s=re.sub(r'^(define internal .*\)) ?\{$',r'\1 #0 {',s,flags=re.M)
    s+='\nattributes #0 = { nounwind willreturn norecurse }\n'
    s=re.sub(r'\n{3,}','\n\n',s)
    s=re.sub(r'STR(\d+)Z',lambda m:strs[int(m.group(1))],s)
    write('library.ll',s.lstrip())


def inline_all():
    """Only the exported functions stay, each whole; generic pointers are inferred away."""
    s=read('library.ll')
    # everything into the entry functions
    s=re.sub(r'^define internal (.*@sb\..*) #0 \{',r'define internal \1 #1 {',s,flags=re.M)
    s=re.sub(r'^define internal (.*@sb_.*) #0 \{',r'define \1 #0 {',s,flags=re.M)
    s+='attributes #1 = { alwaysinline nounwind }\n'
    write("l1.ll", 'target triple = "amdgcn-amd-amdhsa"\n' + s)
    tool("opt", "-S", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx900", "l1.ll", "-o", "l2.ll",
         "-passes=always-inline,globaldce,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,infer-address-spaces,sroa,gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce),globaldce")
    s=read('l2.ll')
    s=re.sub(r'^; ModuleID.*\n|^source_filename.*\n|^target .*\n','',s,flags=re.M)
    s=re.sub(r'\s+; preds = .*','',s); s=re.sub(r'^;.*\n','',s,flags=re.M)
    s=re.sub(r'^declare (.*) #\d+$',r'declare \1',s,flags=re.M)
    s=re.sub(r'^attributes .*\n','',s,flags=re.M)
    s=re.sub(r'^define (?:dso_local |local_unnamed_addr )?',r'define ',s,flags=re.M)
    s=re.sub(r'^(define .*\)) (?:local_unnamed_addr )?#\d+ \{$',r'\1 #0 {',s,flags=re.M)
    s=re.sub(r', !\w+ !\d+','',s); s=re.sub(r'^!.*\n','',s,flags=re.M)
    s=re.sub(r'range\([^)]*\) ','',s)
    # names of values are of no use: number them by llvm-as/dis without names
    s=re.sub(r' #\d+$','',s,flags=re.M)
    s=re.sub(r'\n{3,}','\n\n',s).strip()+'\n\nattributes #0 = { nounwind willreturn memory(none) }\n'
    write("l3.ll", s)
    tool("llvm-as", "l3.ll", "-o", "l3.bc")
    tool("opt", "-S", "-discard-value-names", "-passes=no-op-module", "l3.bc", "-o", "l4.ll")
    s = re.sub(r"^; ModuleID.*\n|^source_filename.*\n", "", read("l4.ll"), flags=re.M)
    write("math.ll", s.strip() + "\n")
    tool("llvm-as", "math.ll", "-o", "math.bc")
    tool("opt", "-passes=verify", "math.bc", "-o", os.path.join(HERE, "math.bc"))


if __name__ == "__main__":
    for stage in (wrappers, compile_crates, use_intrinsics, for_gpus, inline_all):
        print(stage.__name__, file=sys.stderr)
        stage()
