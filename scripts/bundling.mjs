// How our executables are bundled, whatever form they are shipped in.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** `import text from "./file?raw"`, as Vite means it in the tests. */
const rawText = {
  name: "raw-text",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
      // The bundle names it in a comment, which must not say where this checkout is.
      path: relative(root, join(resolveDir, path.slice(0, -"?raw".length))),
      namespace: "raw-text",
    }));
    onLoad({ filter: /.*/, namespace: "raw-text" }, ({ path }) => ({
      contents: readFileSync(join(root, path), "utf8"),
      loader: "text",
      watchFiles: [join(root, path)],
    }));
  },
};

export const executables = [
  ...["drawbridge", "proxy-server", "proxy-agent"],
  ...["konnectivity-socks5-proxy", "konnectivity-https-proxy"],
];

/** Its file among the bundles. */
export const bundleOf = (name) => (isWhole(name) ? `${name}.cjs` : `${name}.js`);

/** Whether it runs one process and is one file; drawbridge has a hundred commands, and loads what one of them needs. */
export const isWhole = (name) => name !== "drawbridge";

/** Of the sources, for --version; empty where there is no repository. */
function commit() {
  if (!existsSync(join(root, ".git"))) return "";
  const { status, stdout } = spawnSync("git", ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], {
    cwd: root,
    encoding: "utf8",
  });
  return status === 0 ? stdout.trim() : "";
}

export const bundling = {
  define: { "process.env.DRAWBRIDGE_COMMIT": JSON.stringify(commit()) },
  // The bundle names its sources relative to this.
  absWorkingDir: root,
  plugins: [rawText],
  bundle: true,
  platform: "node",
  target: "node20.19",
  minifySyntax: true,
  logLevel: "warning",
};

/**
 * The script of an executable. Before our own code is loaded nobody else can say that the limit of open files is too low;
 * where the script itself could be read, one more file can be, too.
 */
export const launcher = (interpreter, module) =>
  module.endsWith(".cjs")
    ? `#!${interpreter}\nrequire("${module}");\n`
    : `#!${interpreter}
import("${module}").catch((error) => {
  if (!/^E[MN]FILE$/.test(error.code)) throw error;
  console.error("Error: the program cannot be loaded: " + error.message + " (DB_OPEN_FILES: Raise the limit of open files: ulimit -n 65536 before it starts, or LimitNOFILE=1048576 in its unit.)");
  process.exit(1);
});
`;
