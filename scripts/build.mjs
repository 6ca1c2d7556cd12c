// Builds what is shipped: the executables as one bundle with lazily loaded chunks, and the library with its types.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const at = (...parts) => join(root, ...parts);
const { version } = JSON.parse(readFileSync(at("package.json"), "utf8"));
const executables = [
  ...["drawbridge", "proxy-server", "proxy-agent"],
  ...["konnectivity-socks5-proxy", "konnectivity-https-proxy"],
];

// Into a folder of its own first: a process that runs from the last build keeps its files until the new ones are whole.
const out = (...parts) => at("dist.new", ...parts);
rmSync(out(), { recursive: true, force: true });

/** `import text from "./file?raw"`, as Vite means it in the tests. */
const rawText = {
  name: "raw-text",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.slice(0, -"?raw".length)),
      namespace: "raw-text",
    }));
    onLoad({ filter: /.*/, namespace: "raw-text" }, ({ path }) => ({
      contents: readFileSync(path, "utf8"),
      loader: "text",
      watchFiles: [path],
    }));
  },
};

await build({
  plugins: [rawText],
  entryPoints: Object.fromEntries(executables.map((name) => [name, at("src/cli", `${name}.ts`)])),
  outdir: out("bundle"),
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
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  logLevel: "warning",
});

// A file without an ending cannot be an ES module on every Node we support, so each executable starts one.
mkdirSync(out("bin"), { recursive: true });
for (const name of executables) {
  const file = out("bin", name);
  writeFileSync(file, `#!/usr/bin/env node\nimport("../bundle/${name}.js");\n`);
  chmodSync(file, 0o755);
}
writeFileSync(out("bin/package.json"), '{ "type": "commonjs" }\n');

const tsc = createRequire(import.meta.url)
  .resolve("typescript7/package.json")
  .replace(/package\.json$/, "bin/tsc");
const { status } = spawnSync(process.execPath, [tsc, "-p", at("tsconfig.build.json"), "--outDir", out("lib")], {
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);
rmSync(at("dist.old"), { recursive: true, force: true });
if (existsSync(at("dist"))) renameSync(at("dist"), at("dist.old"));
renameSync(out(), at("dist"));
rmSync(at("dist.old"), { recursive: true, force: true });
