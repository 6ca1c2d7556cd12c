// Adds what npm leaves out of package-lock.json when a registry does not carry the optional binaries of other platforms:
// without an entry for each, `npm ci` refuses the lockfile everywhere. Run after changing a dependency.
import { readFileSync, writeFileSync } from "node:fs";

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = ["android", "darwin", "win32", "linux", "freebsd", "openbsd", "netbsd", "sunos", "aix", "openharmony"];
const processors = ["arm64", "x64", "ia32", "arm", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32"];

for (const { optionalDependencies = {}, dev } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const path = `node_modules/${name}`;
    if (lock.packages[path] !== undefined) continue;
    // The names say for which platform they are, e.g. @scope/binding-linux-arm64-musl.
    const words = name.split(/[-/@]/);
    const cpu = processors.filter((word) => words.includes(word)).slice(0, 1);
    const os = systems.filter((word) => words.includes(word)).slice(0, 1);
    if (cpu.length + os.length === 0) throw new Error(`${name} names no platform; add it by hand`);
    const libc = words.some((word) => word.startsWith("musl")) ? { libc: ["musl"] } : {};
    lock.packages[path] = {
      version,
      cpu,
      ...(dev ? { dev } : {}),
      ...libc,
      optional: true,
      ...(os.length > 0 ? { os } : {}),
    };
    console.log(`added ${name}`);
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
