//! The one LLVM that the project is built and tested with: names, versions, sizes and checksums.

/// The LLVM release that is accepted, as `major.minor`.
pub const RELEASE: &str = "23.1";

/// Back ends that it must have.
pub const BACK_ENDS: &[&str] = &["AMDGPU", "NVPTX"];

/// A Python package that carries a part of the static LLVM SDK.
pub struct Package {
    /// Its name in the package index.
    pub name: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// One wheel per platform.
    pub wheels: &'static [Wheel],
}

/// One wheel of a package.
pub struct Wheel {
    /// Operating system and processor as in `std::env::consts`.
    pub platform: (&'static str, &'static str),
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// Size of the file in bytes; for the progress display.
    pub bytes: u64,
}

/// The SDK: the core with the host's back end, and all other back ends. Both are installed over each other into one prefix.
pub const PACKAGES: &[Package] = &[
    Package {
        name: "mlc-llvm-static",
        version: "23.1.1.post0",
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
