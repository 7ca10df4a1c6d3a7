//! The one LLVM that the project is built and tested with: names, versions, sizes and checksums.

use crate::wheels::{Package, Set, Wheel};

/// The LLVM release that is accepted, as `major.minor`.
pub(super) const RELEASE: &str = "23.1";

/// Back ends that it must have.
pub(super) const BACK_ENDS: &[&str] = &["AMDGPU", "NVPTX"];

/// The SDK.
pub(super) const SDK: Set = Set {
    what: "LLVM 23.1",
    size: "about 90 MB to fetch, 400 MB on disk",
    otherwise: "install LLVM 23.1 with the AMDGPU and NVPTX back ends yourself and name its prefix in LLVM_SYS_231_PREFIX",
    packages: PACKAGES,
};

/// The part of each package that is the SDK.
const PARTS: &[(&str, &str)] = &[("mlc_llvm_static/static", "")];

/// The core with the host's back end, and all other back ends. Both are installed over each other
/// into one prefix.
const PACKAGES: &[Package] = &[
    Package {
        name: "mlc-llvm-static",
        version: "23.1.1.post0",
        parts: PARTS,
        wheels: &[
            Wheel {
                platform: ("linux", "x86_64"),
                sha256: "dcfec888abfaa418be77d41af585805f31463584cf9c90582992c00f392c1ac5",
                bytes: 60_168_233,
            },
            Wheel {
                platform: ("linux", "aarch64"),
                sha256: "3d4b1b30cea531ffa5956fa14ff4ffb0b1ed61284bf31eac3ebb752fb308b71d",
                bytes: 58_064_992,
            },
            Wheel {
                platform: ("macos", "aarch64"),
                sha256: "2e32382ecef182b040d217d663d10ecb6f994b50b7066381063811e766354102",
                bytes: 45_423_415,
            },
        ],
    },
    Package {
        name: "mlc-llvm-static-extra-targets",
        version: "23.1.1.post0",
        parts: PARTS,
        wheels: &[
            Wheel {
                platform: ("linux", "x86_64"),
                sha256: "c36e834d9a4e9cf9759f27fece65711ece7a2fc2b5a96dbb15d66f5e9e787929",
                bytes: 31_771_021,
            },
            Wheel {
                platform: ("linux", "aarch64"),
                sha256: "b1ddc694cf75bb1502b64c1898b15915362450453b637534886519e20e3d5522",
                bytes: 30_631_132,
            },
            Wheel {
                platform: ("macos", "aarch64"),
                sha256: "c2cdcd6bd7919d8befc1d124ca8a96fd06d85f09e4487ad58211c9d756b63174",
                bytes: 23_715_057,
            },
        ],
    },
];
