/** Our agent that is stopped resets its streams with a code of its own: upstream's server must take that as any other end. */
import { afterEach, expect, test, vi } from "vitest";
import { readExactly } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

vi.setConfig({ testTimeout: 60_000 });

const scope = new Scope();
afterEach(() => scope.close());

test.skipIf(!peersAvailable("proxy-server"))(
  "upstream's server forgets an agent that is stopped, and serves on",
  async () => {
    const tunnel = await startTunnel({ server: "theirs", agent: "ours", frontend: "connect-uds" });
    scope.use(tunnel);
    const echo = await startEcho();
    scope.use(echo);
    const [agent] = tunnel.agents;
    const cut = await tunnel.open(echo.address);
    const ended = new Promise((resolve) => cut.once("end", resolve));
    cut.on("error", () => {}).resume();
    for (const wait of ["draining", "has ended"]) {
      agent!.process.signal("SIGTERM");
      await waitUntil(`the agent to say: ${wait}`, () => agent!.process.log.text.includes(wait));
    }
    await ended;
    expect(await tunnel.dial(echo.address)).toMatchObject({ ok: false });
    await tunnel.addAgent();
    const socket = await tunnel.open(echo.address);
    socket.write("still here");
    expect(String(await readExactly(socket, 10))).toBe("still here");
  },
);
