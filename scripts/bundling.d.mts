import type { BuildOptions } from "esbuild";

export const executables: readonly string[];
export const bundling: BuildOptions;
