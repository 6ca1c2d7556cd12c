import { describe, expect, test } from "vitest";
import { type AddressInput, chooseAddress } from "./choose.js";
import type { HostAddress } from "./host-network.js";
import { FakeNetwork, own } from "./testing/fake-host.js";

const FAR4 = "1.1.1.1";
const FAR6 = "2001:4860:4860::8888";
const eth0 = own("eth0", "10.0.0.5/24");
const eth0v6 = own("eth0", "fd00:1::5/64");

const choose = (host: FakeNetwork, rest: Partial<AddressInput> = {}) => chooseAddress({ env: {}, host, ...rest });
const flag = (value: string) => ({ flag: { name: "--address", value } });

describe("an address that was given", () => {
  test("by flag wins over everything, and no route is asked", async () => {
    const host = new FakeNetwork([eth0], { [FAR4]: "10.0.0.5" });
    const env = { DRAWBRIDGE_BOOTSTRAP_NODE_IP: "10.0.0.7" };
    const choice = await choose(host, { ...flag("10.0.0.9"), env });
    expect(choice).toMatchObject({ target: "10.0.0.9", family: 4, source: "flag", sans: ["10.0.0.9", "10.0.0.5"] });
    expect(choice.considered).toEqual([{ source: "flag", outcome: "chosen", detail: "--address is 10.0.0.9." }]);
    expect(choice.warnings).toEqual([expect.stringContaining("on no interface of this host")]);
    expect(host.asked).toEqual([]);
  });

  test.each([
    [{ DRAWBRIDGE_BOOTSTRAP_NODE_IP: "10.0.0.5", OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP: "10.0.0.6" }, "10.0.0.5"],
    [{ DRAWBRIDGE_BOOTSTRAP_NODE_IP: "", OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP: "10.0.0.6" }, "10.0.0.6"],
  ])("by the environment %j is %s", async (env, target) => {
    const choice = await choose(new FakeNetwork([eth0, own("eth1", "10.0.0.6/24")]), { env });
    expect(choice).toMatchObject({ target, source: "environment", warnings: [] });
  });

  test("is spelt as the certificate spells it", async () => {
    const choice = await choose(new FakeNetwork([eth0v6]), flag("FD00:1:0:0:0::5"));
    expect(choice).toMatchObject({ target: "fd00:1::5", family: 6, sans: ["fd00:1::5"] });
  });

  test.each([
    ["", "it is empty"],
    ["null", "it is empty"],
    ["10.0.0.256", "it is not an IP address"],
    ["10.0.0.5:8091", "without a port"],
    ["10.0.0.5/24", "without a prefix length"],
    ["[fd00::5]", "without brackets"],
    ["fe80::1%eth0", "an address with an interface behind it"],
    ["api-int.cluster.example.com", "names of load balancers (api, api-int) lead to other hosts"],
    ["127.0.0.1", "loopback"],
    ["::1", "loopback"],
    ["169.254.7.7", "link-local"],
    ["fe80::1", "link-local"],
    ["0.0.0.0", "unspecified"],
    ["::", "unspecified"],
    ["224.0.0.1", "multicast"],
    ["ff02::1", "multicast"],
    ["255.255.255.255", "broadcast"],
    ["::ffff:10.0.0.5", "an IPv4 address written as IPv6"],
  ])("as %j is refused: %s", async (value, why) => {
    const refused = choose(new FakeNetwork([eth0]), flag(value));
    await expect(refused).rejects.toMatchObject({ code: "DB_ADDRESS_REFUSED" });
    await expect(refused).rejects.toThrow(why);
  });

  test("of a family the cluster does not have is refused; dual stack has both", async () => {
    const host = new FakeNetwork([eth0, eth0v6]);
    const told = choose(host, { ...flag("fd00:1::5"), serviceNetworks: ["172.30.0.0/16"] });
    await expect(told).rejects.toThrow('--address is "fd00:1::5": it is IPv6, and the service network is IPv4.');
    const dual = { ...flag("fd00:1::5"), serviceNetworks: ["172.30.0.0/16", "fd02::/112"] };
    expect((await choose(host, dual)).target).toBe("fd00:1::5");
  });

  test("outside the machine networks is refused by the variable's name", async () => {
    const env = { OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP: "10.9.0.5" };
    const told = choose(new FakeNetwork([eth0]), { env, machineNetworks: ["10.0.0.0/16", "fd00:1::/48"] });
    await expect(told).rejects.toThrow(
      'the variable OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP is "10.9.0.5": it is outside the machine networks 10.0.0.0/16, fd00:1::/48.',
    );
  });

  test("and that is a VIP of the cluster is refused, however it is spelt", async () => {
    const told = choose(new FakeNetwork([eth0v6]), { ...flag("fd00:1::a"), vips: ["FD00:1:0::000a"] });
    await expect(told).rejects.toThrow("a virtual address of the cluster (VIP)");
  });

  test.each<[string, HostAddress]>([
    ["keepalived added it to eth0", own("eth0", "10.0.0.9/24", [], { origin: "keepalived" })],
    ["the label eth0:vip", own("eth0", "10.0.0.9/24", [], { label: "eth0:vip" })],
    ["a secondary address of eth0", own("eth0", "10.0.0.9/24", ["secondary"])],
    ["a single address (/32) beside the network address of eth0", own("eth0", "10.0.0.9/32")],
    ["a single address (/128) beside the network address of eth0", own("eth0", "fd00:1::9/128")],
  ])("and looks like a VIP is refused: %s", async (why, vip) => {
    const host = new FakeNetwork([eth0, eth0v6, vip]);
    await expect(choose(host, flag(vip.address))).rejects.toThrow(why);
    expect((await choose(host, flag("10.0.0.5"))).sans).toEqual(["10.0.0.5", "fd00:1::5"]);
  });

  test.each<[string, readonly HostAddress[]]>([
    ["the /32 a cloud gives, alone on its interface", [own("eth0", "10.0.0.9/32"), own("eth1", "10.1.0.9/24")]],
    ["a DHCPv6 lease beside the router's /64", [eth0v6, own("eth0", "fd00:1::9/128", ["dynamic"])]],
  ])("is no VIP: %s", async (_, addresses) => {
    const own = addresses.find(({ address }) => address.endsWith("9"))?.address ?? "";
    expect((await choose(new FakeNetwork(addresses), flag(own))).target).toBe(own);
  });

  test.each([
    [{ serviceNetworks: ["172.30.0.0"] }, 'the service network "172.30.0.0" is not a prefix'],
    [{ machineNetworks: ["ten/8"] }, 'the machine network "ten/8" is not a prefix'],
    [{ vips: ["api.example.com"] }, 'the virtual address "api.example.com" is not an IP address'],
  ])("needs sensible surroundings: %j", async (rest, message) => {
    await expect(choose(new FakeNetwork([eth0]), { ...flag("10.0.0.5"), ...rest })).rejects.toThrow(message);
  });
});

describe("an address that has to be found", () => {
  test("comes from the IPv4 route", async () => {
    const host = new FakeNetwork([eth0], { [FAR4]: "10.0.0.5" });
    const choice = await choose(host, { serviceNetworks: ["172.30.0.0/16"] });
    expect(choice).toMatchObject({ target: "10.0.0.5", source: "route", sans: ["10.0.0.5"], warnings: [] });
    expect(choice.considered.map(({ detail }) => detail)).toEqual([
      "10.0.0.5 is the source address of the IPv4 route to 1.1.1.1.",
    ]);
    expect(host.asked).toEqual([FAR4]);
  });

  test("of a dual-stack host with IPv6 first comes from the IPv6 route; both are in the certificate", async () => {
    const host = new FakeNetwork([eth0, eth0v6], { [FAR4]: "10.0.0.5", [FAR6]: "fd00:1::5" });
    const choice = await choose(host, { serviceNetworks: ["fd02::/112", "172.30.0.0/16"] });
    expect(choice).toMatchObject({ target: "fd00:1::5", family: 6, sans: ["fd00:1::5", "10.0.0.5"] });
    expect(host.asked).toEqual([FAR6]);
  });

  test("is not looked for in the other family when the primary one is known", async () => {
    const host = new FakeNetwork([eth0v6], { [FAR6]: "fd00:1::5" });
    await expect(choose(host, { serviceNetworks: ["172.30.0.0/16"] })).rejects.toMatchObject({
      code: "DB_ADDRESS_NOT_FOUND",
      message: "This host has no address that agents could dial: there is no IPv4 route to 1.1.1.1.",
    });
  });

  test("is looked for in both families when nothing is known", async () => {
    const host = new FakeNetwork([eth0v6], { [FAR6]: "fd00:1::5" });
    const choice = await choose(host);
    expect(choice.target).toBe("fd00:1::5");
    expect(choice.considered.map(({ outcome }) => outcome)).toEqual(["nothing", "chosen"]);
  });

  test("outside the machine networks is replaced by the route into them", async () => {
    const host = new FakeNetwork([own("eth0", "192.0.2.7/24"), own("eth1", "10.0.0.5/24")], {
      [FAR4]: "192.0.2.7",
      "10.0.0.1": "10.0.0.5",
    });
    const choice = await choose(host, { machineNetworks: ["10.0.0.0/16"] });
    expect(choice).toMatchObject({ target: "10.0.0.5", source: "machine-network" });
    expect(choice.sans).toEqual(["10.0.0.5", "192.0.2.7"]);
    expect(choice.considered[0]).toEqual({
      source: "route",
      outcome: "refused",
      detail:
        "192.0.2.7 is the source address of the IPv4 route to 1.1.1.1, but it is outside the machine networks 10.0.0.0/16.",
    });
  });

  test("is asked for in every machine network of the primary family", async () => {
    const host = new FakeNetwork([own("eth1", "10.2.0.5/24")], { "10.2.0.1": "10.2.0.5" });
    const machineNetworks = ["fd00:1::/48", "10.1.0.0/16", "10.2.0.0/16"];
    const choice = await choose(host, { serviceNetworks: ["172.30.0.0/16"], machineNetworks });
    expect(choice.target).toBe("10.2.0.5");
    expect(host.asked).toEqual([FAR4, "10.1.0.1", "10.2.0.1"]);
  });

  test("is the interface's, when there is no route at all and no doubt", async () => {
    const host = new FakeNetwork([own("eth0", "10.0.0.5/32"), own("eth1", "192.0.2.7/24")]);
    const choice = await choose(host, { machineNetworks: ["10.0.0.0/16"] });
    expect(choice).toMatchObject({ target: "10.0.0.5", source: "interface" });
    expect(choice.considered.at(-1)?.detail).toBe("10.0.0.5 is the only address of eth0 in the machine networks.");
  });

  test("skips a VIP that would have been the interface's second address", async () => {
    const host = new FakeNetwork([eth0, own("eth0", "10.0.0.9/24")]);
    const choice = await choose(host, { machineNetworks: ["10.0.0.0/16"], vips: ["10.0.0.9"] });
    expect(choice).toMatchObject({ target: "10.0.0.5", source: "interface", sans: ["10.0.0.5"] });
  });

  test("is refused when two interfaces could be meant, and both are named", async () => {
    const host = new FakeNetwork([eth0, own("eth1", "10.0.1.5/24")]);
    await expect(choose(host, { machineNetworks: ["10.0.0.0/16"] })).rejects.toThrow(
      "several addresses are in the machine networks (10.0.0.5 on eth0, 10.0.1.5 on eth1), and no route prefers one",
    );
  });

  test("is refused with every reason when there is none", async () => {
    const host = new FakeNetwork([], { [FAR4]: "169.254.1.1" });
    const message =
      "This host has no address that agents could dial: 169.254.1.1 is the source address of the IPv4 route to 1.1.1.1, " +
      "but it is a link-local address, which pods cannot route to; there is no route into machine network 10.0.0.0/16; " +
      "no interface has an address in the machine networks 10.0.0.0/16.";
    await expect(choose(host, { machineNetworks: ["10.0.0.0/16"] })).rejects.toThrow(message);
  });

  test("is never short-lived: privacy, deprecated and tentative ones stay out of the certificate", async () => {
    const passing = ["temporary", "deprecated", "tentative", "dadfailed"];
    const host = new FakeNetwork(
      [eth0, ...passing.map((mark, i) => own("eth0", `fd00:1::${i + 1}/64`, [mark])), eth0v6],
      {
        [FAR4]: "10.0.0.5",
      },
    );
    expect((await choose(host)).sans).toEqual(["10.0.0.5", "fd00:1::5"]);
  });
});
