// Builds what is shipped: the executables as one bundle with lazily loaded chunks, and the library with its types.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const at = (...parts) => join(root, ...parts);
const { version } = JSON.parse(readFileSync(at("package.json"), "utf8"));
const executables = ["drawbridge", "proxy-server", "proxy-agent"];

rmSync(at("dist"), { recursive: true, force: true });
await build({
  entryPoints: Object.fromEntries(executables.map((name) => [name, at("src/cli", `${name}.ts`)])),
  outdir: at("dist/bundle"),
  bundle: true,
  // Chunks keep what only some commands need (Kubernetes client, X.509) out of memory until it is asked for.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: "linked",
  minifySyntax: true,
  define: { "process.env.DRAWBRIDGE_VERSION": JSON.stringify(version) },
  // Some dependencies are CommonJS and call require() for Node's own modules.
  banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
  logLevel: "warning",
});

// A file without an ending cannot be an ES module on every Node we support, so each executable starts one.
mkdirSync(at("dist/bin"), { recursive: true });
for (const name of executables) {
  const file = at("dist/bin", name);
  writeFileSync(file, `#!/usr/bin/env node\nimport("../bundle/${name}.js");\n`);
  chmodSync(file, 0o755);
}
writeFileSync(at("dist/bin/package.json"), '{ "type": "commonjs" }\n');

const tsc = createRequire(import.meta.url).resolve("typescript/package.json").replace(/package\.json$/, "bin/tsc");
const { status } = spawnSync(process.execPath, [tsc, "-p", at("tsconfig.build.json")], { stdio: "inherit" });
process.exit(status ?? 1);
