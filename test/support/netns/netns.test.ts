import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import {
  addAddress,
  addBridge,
  addNeighbour,
  addRoute,
  createNamespace,
  destroyAll,
  link,
  type Namespace,
} from "./index.js";
import { requireNamespaces } from "./probe.js";

const hasNamespaces = await requireNamespaces();

afterEach(destroyAll);

describe.skipIf(!hasNamespaces)("network namespaces", () => {
  test("begin with loopback and no route", async () => {
    const ns = await createNamespace("alone");
    expect(ns.name).toBe(`db-${process.pid}-alone`);
    expect(await ns.run("ip", "-brief", "address", "show", "lo")).toContain("127.0.0.1/8");
    expect(await ns.run("ip", "route")).toBe("");
  });

  test("reach each other over a cable, and a third one through a bridge", async () => {
    const [a, b, hub] = await Promise.all([createNamespace("a"), createNamespace("b"), createNamespace("hub")]);
    await link(a, "eth0", hub, "to-a");
    await link(b, "eth0", hub, "to-b");
    await addBridge(hub, "br0", ["to-a", "to-b"]);
    await addAddress(a, "eth0", "10.77.0.1/24");
    await addAddress(b, "eth0", "10.77.0.2/24");
    const server = b.exec([process.execPath, "-e", listening], { stdio: ["ignore", "pipe", "inherit"] });
    await once(server.stdout!, "data");
    expect(await a.run(process.execPath, "-e", dialling("10.77.0.2"))).toBe("hello");
    await expect(hub.run(process.execPath, "-e", dialling("10.77.0.2"))).rejects.toThrow(/ENETUNREACH/);
  });

  test("lose packets on a default route whose neighbour does not exist", async () => {
    const [near, far] = await Promise.all([createNamespace("near"), createNamespace("far")]);
    await link(near, "out", far, "in");
    await addAddress(near, "out", "192.0.2.1/24");
    await addNeighbour(near, "out", "192.0.2.2", "02:00:00:00:00:02");
    await addRoute(near, "default", { via: "192.0.2.2", device: "out" });
    // Killed by the time limit and silent: neither refused nor unreachable.
    await expect(near.run("timeout", "3", process.execPath, "-e", dialling("198.51.100.7"))).rejects.toThrow(
      /Command failed: .*\n?$/,
    );
    expect(await received(far, "in")).toBeGreaterThan(0);
    expect(await far.run("ip", "route")).toBe("");
  });

  test("end their processes and disappear when destroyed", async () => {
    const ns = await createNamespace("gone");
    const child = ns.exec(["sleep", "600"], { stdio: "ignore" });
    const exited = once(child, "exit");
    await once(child, "spawn");
    await expect.poll(() => ns.run("ip", "netns", "pids", ns.name), { timeout: 15_000 }).toContain(String(child.pid));
    await ns.destroy();
    expect(await exited).toEqual([null, "SIGKILL"]);
    expect(existsSync(ns.path)).toBe(false);
  });

  test("of a process that exits or was killed are removed at its exit or by the next one", async () => {
    const exiting = await leaveBehind("process.exit(0)");
    expect(leftBy(exiting)).toEqual([]);
    const killed = await leaveBehind("process.kill(process.pid, 'SIGKILL')");
    expect(leftBy(killed)).toEqual([`db-${killed}-left`]);
    await leaveBehind("process.exit(0)");
    expect(leftBy(killed)).toEqual([]);
  });
});

const listening = `require("node:net").createServer((s) => s.end("hello")).listen(7000, () => console.log("up"))`;
const dialling = (host: string) => `require("node:net").connect(7000, "${host}").pipe(process.stdout)`;

async function received(ns: Namespace, device: string): Promise<number> {
  const [state] = JSON.parse(await ns.run("ip", "-stats", "-json", "link", "show", device));
  return state.stats64.rx.packets;
}

async function leaveBehind(ending: string): Promise<number> {
  const index = fileURLToPath(new URL("./index.ts", import.meta.url));
  const script = `import(${JSON.stringify(index)}).then((m) => m.createNamespace("left")).then(() => { ${ending} })`;
  const child = spawn(process.execPath, ["--import", "tsx", "-e", script], { stdio: "inherit" });
  await once(child, "exit");
  return child.pid!;
}

const leftBy = (pid: number) => readdirSync("/run/netns").filter((name) => name.startsWith(`db-${pid}-`));
