import { fileURLToPath } from "node:url";

/** Our own programs as they are shipped, run by the Node that runs the demo. */
export function shipped(program: "proxy-server" | "proxy-agent"): string[] {
  return [process.execPath, fileURLToPath(new URL(`../../dist/bin/${program}`, import.meta.url))];
}
