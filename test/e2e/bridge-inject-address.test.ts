/** The injected script looks for the bootstrap host's address: each case on a host of its own, made of namespaces. */
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { hasTools } from "../support/ignition-fixtures/tools.js";
import { equipped } from "../support/lab/equipment.js";
import { run } from "../support/lab/run.js";
import { addRoute, createNamespace, link, type Namespace } from "../support/netns/index.js";

const ready = (await equipped({ namespaces: true })) && hasTools("bash", "jq");

describe.skipIf(!ready)("I1: the address that the injected script finds", () => {
  const spaces: Namespace[] = [];
  let count = 0;
  afterAll(() => Promise.all(spaces.map((space) => space.destroy())));

  /** A host with one interface for each list of addresses. */
  async function hostWith(...interfaces: string[][]): Promise<Namespace> {
    count += 1;
    const [own, peer] = [await createNamespace(`i${count}`), await createNamespace(`i${count}-peer`)];
    spaces.push(own, peer);
    for (const [i, addresses] of interfaces.entries()) {
      await link(own, `eth${i}`, peer, `peer${i}`);
      for (const cidr of addresses)
        await own.run("ip", "address", "add", cidr, "dev", `eth${i}`, ...(cidr.includes(":") ? ["nodad"] : []));
    }
    return own;
  }

  const functions = fileURLToPath(new URL("../../src/cluster/bootstrap/shell/functions.sh", import.meta.url));
  const ask = (space: Namespace, settings: Record<string, string>) =>
    run(
      ["bash", "--norc", "-euo", "pipefail", "-c", `. ${functions}; konnectivity_address; konnectivity_other_family`],
      {
        netns: space.name,
        env: settings,
      },
    );

  const gateway = (space: Namespace, via: string) => addRoute(space, "default", { via });

  test("IPv4: the source of the default route", async () => {
    const space = await hostWith(["10.1.0.5/24", "10.1.0.9/24"]);
    await gateway(space, "10.1.0.1");
    const settings = { KONNECTIVITY_MACHINE_NETWORKS: "10.1.0.0/24", KONNECTIVITY_PROBES: "10.1.0.1" };
    expect(await ask(space, settings)).toMatchObject({ code: 0, stdout: "10.1.0.5\n", stderr: "" });
  });

  test("IPv6 first, IPv4 beside it", async () => {
    const space = await hostWith(["10.1.0.5/24", "fd00:1::5/64"]);
    await gateway(space, "10.1.0.1");
    await space.run("ip", "-6", "route", "add", "default", "via", "fd00:1::1");
    expect(await ask(space, { KONNECTIVITY_FAMILY: "6" })).toMatchObject({ code: 0, stdout: "fd00:1::5\n10.1.0.5\n" });
    expect(await ask(space, { KONNECTIVITY_FAMILY: "4" })).toMatchObject({ code: 0, stdout: "10.1.0.5\nfd00:1::5\n" });
  });

  test("several interfaces: the one in the machine network, not the one with the default route", async () => {
    const space = await hostWith(["10.1.0.5/24"], ["192.168.7.5/24"]);
    await gateway(space, "10.1.0.1");
    const settings = { KONNECTIVITY_MACHINE_NETWORKS: "192.168.7.0/24", KONNECTIVITY_PROBES: "192.168.7.1" };
    expect(await ask(space, settings)).toMatchObject({ code: 0, stdout: "192.168.7.5\n" });
  });

  test("no default route: the machine network's", async () => {
    const space = await hostWith(["192.168.7.5/24"]);
    const settings = { KONNECTIVITY_MACHINE_NETWORKS: "192.168.7.0/24", KONNECTIVITY_PROBES: "192.168.7.1" };
    expect(await ask(space, settings)).toMatchObject({ code: 0, stdout: "192.168.7.5\n" });
  });

  test("a virtual address that the host happens to hold is passed over", async () => {
    const space = await hostWith(["192.168.7.2/24", "192.168.7.5/24"]);
    const settings = {
      KONNECTIVITY_MACHINE_NETWORKS: "192.168.7.0/24",
      KONNECTIVITY_PROBES: "192.168.7.1",
      KONNECTIVITY_SHARED_IPS: "192.168.7.2",
    };
    expect(await ask(space, settings)).toMatchObject({ code: 0, stdout: "192.168.7.5\n" });
  });

  test("outside all machine networks: taken, with a warning", async () => {
    const space = await hostWith(["10.1.0.5/24"]);
    await gateway(space, "10.1.0.1");
    const answer = await ask(space, {
      KONNECTIVITY_MACHINE_NETWORKS: "192.168.7.0/24",
      KONNECTIVITY_PROBES: "192.168.7.1",
    });
    expect(answer).toMatchObject({ code: 0, stdout: "10.1.0.5\n" });
    expect(answer.stderr).toMatch(
      /^konnectivity: warning: 10.1.0.5 lies outside the machine networks 192.168.7.0\/24;.*\n$/,
    );
  });

  test("nothing usable: one sentence", async () => {
    const space = await hostWith(["169.254.3.4/16"]);
    await gateway(space, "169.254.0.1");
    const { code, stdout, stderr } = await ask(space, {});
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^konnectivity: this host has no IPv4 address that agents could dial .* --bootstrap-ip\n$/);
  });

  test("a configured address wins, and is looked at too", async () => {
    const space = await hostWith(["10.1.0.5/24"]);
    expect(await ask(space, { KONNECTIVITY_BOOTSTRAP_IP: "203.0.113.9" })).toMatchObject({
      code: 0,
      stdout: "203.0.113.9\n",
    });
    expect(await ask(space, { KONNECTIVITY_BOOTSTRAP_IP: "127.0.0.1" })).toMatchObject({ code: 1, stdout: "" });
  });
});
