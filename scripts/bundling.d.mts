import type { BuildOptions } from "esbuild";

export const executables: readonly string[];
export function bundleOf(name: string): string;
export const bundling: BuildOptions;
export function launcher(interpreter: string, module: string): string;
