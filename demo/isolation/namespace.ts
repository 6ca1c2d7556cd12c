import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { command } from "../../test/support/netns/command.js";
import { within } from "../../test/support/processes/deadline.js";
import type { Scope } from "../../test/support/processes/scope.js";
import type { Place } from "./place.js";

/** The cable between the control plane's network and the nodes'. */
const NEAR = { device: "to-nodes", address: "10.233.0.1" };
const FAR = { device: "to-servers", address: "10.233.0.2" };
const CABLE_PREFIX = "30";
/** An address of the pod network, which only the nodes have. */
const WEBHOOK = { host: "10.128.1.10", port: 8443 };

/**
 * The story runs in a network namespace already; this makes a second one for the agents and the webhook, joined by a
 * cable, with the pod network behind it. Neither has a name or anything on the host: both go with their last process.
 */
export async function makeNamespacePlace(scope: Scope): Promise<Place> {
  const keeper = await makeNamespace(scope);
  const target = String(keeper.pid);
  const far = (argv: readonly string[]) => ["nsenter", `--net=/proc/${target}/ns/net`, "--", ...argv];
  const farIp = (...args: string[]) => command(...far(["ip", ...args]));

  await command("ip", "link", "set", "lo", "up");
  await command("ip", "link", "add", NEAR.device, "type", "veth", "peer", "name", FAR.device, "netns", target);
  await command("ip", "address", "add", `${NEAR.address}/${CABLE_PREFIX}`, "dev", NEAR.device);
  await command("ip", "link", "set", NEAR.device, "up");
  await farIp("link", "set", "lo", "up");
  await farIp("address", "add", `${FAR.address}/${CABLE_PREFIX}`, "dev", FAR.device);
  await farIp("link", "set", FAR.device, "up");
  await farIp("address", "add", `${WEBHOOK.host}/32`, "dev", "lo");
  return { serverHost: NEAR.address, webhook: WEBHOOK, far };
}

/** A namespace lives as long as a process in it; this one ends when our end of its pipe does. */
async function makeNamespace(scope: Scope): Promise<ChildProcess> {
  const keeper = spawn("unshare", ["--net", "--", "sh", "-c", "echo made; exec cat >/dev/null"], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: true,
  });
  scope.defer(async () => {
    const exited = once(keeper, "exit");
    if (keeper.exitCode === null && keeper.kill("SIGKILL")) await exited;
  });
  await within(5_000, "a network namespace for the agents", once(keeper.stdout, "data"));
  return keeper;
}
