import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

const given = new Set<number>();

/**
 * A port nobody listens on. Upstream's flags accept only 1024 to 49151, and the range the kernel takes outgoing ports
 * from begins at 32768: so the choice is made below that, and never twice in one process.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(15_000, 32_000);
    if (given.has(port) || !(await canListen(port))) continue;
    given.add(port);
    return port;
  }
  throw new Error("no free port between 15000 and 32000 was found");
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer().unref();
  try {
    server.listen(port, "0.0.0.0");
    await once(server, "listening");
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
