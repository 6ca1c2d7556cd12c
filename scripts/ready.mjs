// Makes a fresh clone ready: installs and builds what is missing or out of date. With --peers also the real peers.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const at = (...parts) => join(root, ...parts);

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  stop(`Node ${process.versions.node} is too old: drawbridge needs 20.19 or newer.`);
}

if (age(at("node_modules/.package-lock.json")) < age(at("package-lock.json"))) {
  run("installing dependencies", "npm", ["ci", "--no-audit", "--no-fund"]);
}
if (age(at("dist")) < Math.max(newest(at("src")), age(at("package-lock.json")), newest(at("scripts")))) {
  run("building", process.execPath, [at("scripts/build.mjs")]);
}
if (process.argv.includes("--peers")) preparePeers();

/** Without Go the tests that need peers say so and are skipped; where peers are required it is a failure. */
function preparePeers() {
  const tsx = at("node_modules/tsx/dist/cli.mjs");
  const { status } = spawnSync(process.execPath, [tsx, at("peers/build.ts")], { cwd: root, stdio: "inherit" });
  if (status !== 0 && process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") stop("the real peers could not be built.");
}

/** Modification time, or 0 for what is not there. */
function age(path) {
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

function newest(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !/\.(test|fuzz)\.ts$/.test(entry.name))
    .reduce((latest, entry) => Math.max(latest, age(join(entry.parentPath ?? entry.path, entry.name))), 0);
}

function run(what, command, args) {
  console.log(`drawbridge: ${what} ...`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) stop(`${what} failed${error ? `: ${error.message}` : ""}.`);
}

function stop(sentence) {
  console.error(`drawbridge: ${sentence}`);
  process.exit(1);
}
