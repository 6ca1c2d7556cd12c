import { existsSync, readFileSync } from "node:fs";

/** The package's version, looked up from wherever this file was bundled to. */
export function version(): string {
  for (let folder = new URL(".", import.meta.url); ; folder = new URL("..", folder)) {
    const file = new URL("package.json", folder);
    if (existsSync(file)) {
      const { name, version } = JSON.parse(readFileSync(file, "utf8")) as { name?: string; version?: string };
      if (name === "drawbridge" && version) return version;
    }
    if (folder.pathname === "/") return "unknown";
  }
}
