/**
 * I1: which address agents are told to dial, decided by the real `ip` in network namespaces that are shaped like the
 * hosts one meets: one family, both, no default route, several networks, a virtual address on the interface.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type AddressInput, chooseAddress } from "../../src/cluster/bootstrap/address/choose.js";
import { hostNetwork } from "../../src/cluster/bootstrap/address/host-network.js";
import { run } from "../support/lab/run.js";
import {
  addAddress,
  addRoute,
  createNamespace,
  destroyAll,
  link,
  type Namespace,
  requireNamespaces,
} from "../support/netns/index.js";

const ready = await requireNamespaces();
const SERVICE4 = "172.30.0.0/16";
const SERVICE6 = "fd02::/112";

interface Nic {
  readonly addresses: readonly string[];
  /** The gateway of a default route. */
  readonly gateways?: readonly string[];
}

describe.skipIf(!ready)("I1: the address agents dial", () => {
  let made = 0;
  let host: Namespace;

  afterEach(destroyAll);

  /** A host with these interfaces, each on a cable to a switch that nobody answers on. */
  async function makeHost(nics: Readonly<Record<string, Nic>>): Promise<void> {
    made += 1;
    host = await createNamespace(`addr${made}`);
    const far = await createNamespace(`far${made}`);
    for (const [device, { addresses, gateways = [] }] of Object.entries(nics)) {
      await link(host, device, far, `to-${device}`);
      for (const address of addresses) await addAddress(host, device, address);
      for (const gateway of gateways) await addRoute(host, "default", { via: gateway, device });
    }
  }

  const choose = (input: Partial<AddressInput> = {}) =>
    chooseAddress({ env: {}, host: hostNetwork((argv) => run(argv, { netns: host.name })), ...input });

  /** Whom the host has tried to talk to, answered or not. */
  const neighbours = (): Promise<string> => host.run("ip", "neighbour", "show");

  test("IPv4: the source of the default route, and nothing leaves the host", async () => {
    await makeHost({ eth0: { addresses: ["192.168.66.10/24"], gateways: ["192.168.66.1"] } });
    const choice = await choose({ serviceNetworks: [SERVICE4], machineNetworks: ["192.168.66.0/24"] });
    expect(choice).toMatchObject({ target: "192.168.66.10", source: "route", sans: ["192.168.66.10"], warnings: [] });
    expect(await neighbours()).toBe("");
    // The control: one packet towards the same gateway leaves an entry behind.
    await run(
      [
        process.execPath,
        "-e",
        'require("node:dgram").createSocket("udp4").send("x", 9, "192.168.66.1", () => process.exit())',
      ],
      { netns: host.name },
    );
    expect(await neighbours()).toContain("192.168.66.1 dev eth0");
  });

  test("IPv6", async () => {
    await makeHost({ eth0: { addresses: ["fd00:66::10/64"], gateways: ["fd00:66::1"] } });
    const choice = await choose({ serviceNetworks: [SERVICE6], machineNetworks: ["fd00:66::/64"] });
    expect(choice).toMatchObject({ target: "fd00:66::10", family: 6, source: "route", sans: ["fd00:66::10"] });
  });

  test("dual stack: the primary family is the target, both are names of the certificate", async () => {
    const addresses = ["192.168.66.10/24", "fd00:66::10/64"];
    await makeHost({ eth0: { addresses, gateways: ["192.168.66.1", "fd00:66::1"] } });
    const six = await choose({ serviceNetworks: [SERVICE6, SERVICE4] });
    expect(six).toMatchObject({ target: "fd00:66::10", sans: ["fd00:66::10", "192.168.66.10"] });
    const four = await choose({ serviceNetworks: [SERVICE4, SERVICE6] });
    expect(four).toMatchObject({ target: "192.168.66.10", sans: ["192.168.66.10", "fd00:66::10"] });
  });

  test("no default route: the way into the machine network", async () => {
    await makeHost({ eth0: { addresses: ["192.168.66.10/24"] } });
    const choice = await choose({ serviceNetworks: [SERVICE4], machineNetworks: ["192.168.66.0/24"] });
    expect(choice).toMatchObject({ target: "192.168.66.10", source: "machine-network" });
    expect(choice.considered.map(({ outcome }) => outcome)).toEqual(["nothing", "chosen"]);
  });

  test("no default route and no machine network: refused, and told apart from a broken ip", async () => {
    await makeHost({ eth0: { addresses: ["192.168.66.10/24"] } });
    await expect(choose()).rejects.toMatchObject({
      code: "DB_ADDRESS_NOT_FOUND",
      message:
        "This host has no address that agents could dial: there is no IPv4 route to 1.1.1.1; there is no IPv6 route to 2001:4860:4860::8888.",
    });
  });

  test("no route at all: the one address in the machine network", async () => {
    await makeHost({ eth0: { addresses: ["192.168.66.10/32"] }, eth1: { addresses: ["10.9.0.5/24"] } });
    const choice = await choose({ serviceNetworks: [SERVICE4], machineNetworks: ["192.168.66.0/24"] });
    expect(choice).toMatchObject({ target: "192.168.66.10", source: "interface" });
  });

  test("several networks: the default route leads out by the wrong one", async () => {
    await makeHost({
      prov: { addresses: ["172.22.0.2/24"], gateways: ["172.22.0.1"] },
      data: { addresses: ["192.168.66.10/24"] },
    });
    expect((await choose()).target).toBe("172.22.0.2");
    const choice = await choose({ machineNetworks: ["192.168.66.0/24"] });
    expect(choice).toMatchObject({ target: "192.168.66.10", source: "machine-network" });
    expect(choice.considered[0]).toMatchObject({ source: "route", outcome: "refused" });
  });

  test("two networks of the cluster and no route: refused with both names", async () => {
    await makeHost({ eth0: { addresses: ["10.1.0.5/32"] }, eth1: { addresses: ["10.2.0.5/32"] } });
    await expect(choose({ machineNetworks: ["10.0.0.0/8"] })).rejects.toThrow(
      "several addresses are in the machine networks (10.1.0.5 on eth0, 10.2.0.5 on eth1)",
    );
  });

  test("a VIP on the interface is neither chosen nor named, and refused when told", async () => {
    await makeHost({
      eth0: { addresses: ["192.168.66.10/24", "fd00:66::10/64"], gateways: ["192.168.66.1", "fd00:66::1"] },
    });
    await addAddress(host, "eth0", "192.168.66.5/32");
    await addAddress(host, "eth0", "192.168.66.6/24");
    await host.run("ip", "address", "add", "fd00:66::5/128", "dev", "eth0", "nodad", "preferred_lft", "0");
    await host.run("ip", "address", "add", "192.168.66.7/32", "dev", "eth0", "label", "eth0:vip");
    const choice = await choose({
      serviceNetworks: [SERVICE4, SERVICE6],
      machineNetworks: ["192.168.66.0/24", "fd00:66::/64"],
    });
    expect(choice.sans).toEqual(["192.168.66.10", "fd00:66::10"]);
    for (const [value, why] of [
      ["192.168.66.5", "a single address (/32)"],
      ["192.168.66.6", "a secondary address of eth0"],
      ["192.168.66.7", "the label eth0:vip"],
      ["fd00:66::5", "a single address (/128)"],
    ] as const) {
      await expect(choose({ flag: { name: "--address", value } })).rejects.toThrow(why);
    }
  });

  test("a VIP that only the install configuration knows is passed over", async () => {
    await makeHost({
      eth0: { addresses: ["192.168.66.5/24"], gateways: ["192.168.66.1"] },
      eth1: { addresses: ["192.168.67.10/24"] },
    });
    const machineNetworks = ["192.168.66.0/24", "192.168.67.0/24"];
    const choice = await choose({ machineNetworks, vips: ["192.168.66.5"] });
    expect(choice).toMatchObject({ target: "192.168.67.10", source: "machine-network", sans: ["192.168.67.10"] });
  });

  test("the environment overrules the routes, and may not name something unusable", async () => {
    await makeHost({
      eth0: { addresses: ["192.168.66.10/24"], gateways: ["192.168.66.1"] },
      eth1: { addresses: ["192.168.67.10/24"] },
    });
    const chosenWith = (address: string) => choose({ env: { OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP: address } });
    expect(await chosenWith("192.168.67.10")).toMatchObject({
      target: "192.168.67.10",
      source: "environment",
      warnings: [],
    });
    await expect(chosenWith("api-int.lab.example.com")).rejects.toMatchObject({ code: "DB_ADDRESS_REFUSED" });
    await expect(chosenWith("127.0.0.1")).rejects.toThrow("loopback");
  });

  test("an interface that is down has no say", async () => {
    await makeHost({
      eth0: { addresses: ["192.168.66.10/24"], gateways: ["192.168.66.1"] },
      eth1: { addresses: ["192.168.67.10/24"] },
    });
    await host.run("ip", "link", "set", "eth1", "down");
    expect((await choose()).sans).toEqual(["192.168.66.10"]);
  });
});
