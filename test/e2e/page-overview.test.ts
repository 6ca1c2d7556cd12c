/**
 * `drawbridge page` in a real Chromium: a bridge that `bootstrap up` brought up on a host of its own, beside a real
 * kube-apiserver with a pool, a claim and a request that a real approver denied; and strangers' names in all of it.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { secondTime } from "../../src/cluster/nodes/objects.js";
import { writeClaims } from "../../src/cluster/nodes/serving/recorder.js";
import { type ProvidedFacts, startOverview } from "../../src/insight/watch/overview/overview.js";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables, equipped } from "../support/lab/equipment.js";
import { BOOTSTRAP, Hosts } from "../support/lab/hosts.js";
import { LabProcess } from "../support/lab/process.js";
import { mustSync, type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { hasChromium, startBrowser, watchedPage } from "../support/page/browser.js";
import { barriers, logIn, overflow } from "../support/page/visit.js";
import { ours } from "../support/processes/executables.js";

const DRAWBRIDGE = ours("drawbridge");
const NAMESPACE = "drawbridge";
const SOON = { timeout: 60_000 };

const hasBrowser = hasChromium();
const ready = hasBrowser && (await equipped({ controlPlane: true, namespaces: true }));

const metadata = (name: string, more: object = {}) => ({ name, namespace: NAMESPACE, ...more });

const poolOf = (name: string, config: string) => ({
  apiVersion: "hypershift.openshift.io/v1beta1",
  kind: "NodePool",
  metadata: metadata(name),
  spec: {
    ...{ clusterName: "demo", replicas: 3, platform: { type: "None" }, management: { upgradeType: "InPlace" } },
    ...{ release: { image: "registry.example/release:4.18.0" }, config: [{ name: config }] },
  },
});

const objects = [
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata("demo", { labels: { "drawbridge/cluster": "true" } }),
    data: {
      ...{ apiServer: "https://api.example:6443", ignitionEndpoint: "ignition.example", ignitionCA: "PEM\n" },
      version: "4.18.0",
    },
  },
  poolOf("workers", "workers-config"),
  poolOf("broken", "nobody-made-this"),
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata("workers-config"),
    data: {
      config: `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: one}
spec: {config: {ignition: {version: 3.2.0}}}
`,
    },
  },
];

function claimed(worker: string): object {
  const claim = { pool: `${NAMESPACE}/workers`, worker, at: Date.now() - 65_000 };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata("claims", { labels: { "drawbridge/inventory": "true" } }),
    data: {
      claims: writeClaims(new Map([["", claim]])),
      expected: stringify({
        pool: claim.pool,
        workers: [worker, "w-1"].map((name) => ({ name, notBefore: secondTime(claim.at) })),
      }),
    },
  };
}

describe.skipIf(!ready)("a host with a bridge, and a cluster with pools", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let netns: string;
  let browser: Browser;
  let page: Page;
  let complaints: string[];
  let shown: LabProcess;
  let tokenFile: string;

  const place = (name: string): string => scope.file(`drawbridge-${name}`);
  const drawbridge = (...words: string[]): Promise<Outcome> => run([DRAWBRIDGE, ...words], { netns });
  const start = (name: string, ...words: string[]): LabProcess =>
    LabProcess.start(scope, { name, netns, command: [DRAWBRIDGE, ...words] });
  const text = (selector: string) => page.textContent(selector);

  /** The browser has to be where the page's loopback is. */
  function browserInside(executable: string): string {
    const script = scope.file("chromium");
    writeFileSync(script, `#!/bin/sh\nexec nsenter --net=/run/netns/${netns} -- ${executable} "$@"\n`, { mode: 0o700 });
    return script;
  }

  /** With a group that no kubelet asks for. */
  function forgedRequest(): object {
    const [key, pem] = [scope.file("intruder.key"), scope.file("intruder.pem")];
    const subject = "/O=system:masters/O=system:nodes/CN=system:node:intruder";
    mustSync(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key]);
    mustSync(["openssl", "req", "-new", "-key", key, "-subj", subject, "-out", pem]);
    return {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "csr-intruder" },
      spec: {
        request: readFileSync(pem).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      },
    };
  }

  async function makeNodesStory(): Promise<void> {
    const installed = await drawbridge(
      ...["nodepool", "install", "--image=registry.example/drawbridge:1", `--kubeconfig=${plane.adminConfig}`],
    );
    expect(installed).toMatchObject({ code: 0 });
    await plane.admin.run(["wait", "--for=condition=Established", "crd/nodepools.hypershift.openshift.io"]);
    await plane.admin.apply(...objects, claimed("w-0"), forgedRequest());
    start("controller", "nodepool", "controller", `--kubeconfig=${plane.adminConfig}`);
    start("approver", "csr", "approver", `--kubeconfig=${plane.adminConfig}`, "--interval=1s");
  }

  async function makeBridge(): Promise<void> {
    const places = ["state-dir=state", "runtime-directory=run", "config-directory=etc"].map((flag) => {
      const [name, folder] = flag.split("=") as [string, string];
      return `--${name}=${place(folder)}`;
    });
    const up = await drawbridge(
      ...["bootstrap", "up", "--for-platform=bare", "--server=process", "--image=registry.example/drawbridge:1"],
      ...[...places, `--kubeconfig=${plane.adminConfig}`, "--timeout=20s"],
    );
    expect(up).toMatchObject({ code: 0 });
  }

  beforeAll(async () => {
    scope = new Scope("page");
    const hosts = await Hosts.make(scope);
    netns = hosts.bs.name;
    plane = await makeControlPlane(scope, { executables: controlPlaneExecutables(), netns, host: BOOTSTRAP });
    await plane.apiServer.start();
    await Promise.all([makeNodesStory(), makeBridge()]);
    tokenFile = scope.file("made/page-token");
    shown = start(
      "page",
      ...["page", `--state-dir=${place("state")}`, `--kubeconfig=${plane.adminConfig}`, `--token-file=${tokenFile}`],
    );
    await shown.ready("its address", 60_000, () => shown.log().includes("http://127.0.0.1:"));
    browser = await startBrowser(browserInside);
    ({ page, complaints } = await watchedPage(browser));
  });
  afterAll(async () => {
    await browser?.close();
    // Its server outlives the command that started it; a test may have ended before it was taken away.
    if (plane !== undefined && existsSync(place("state")))
      await drawbridge("bootstrap", "teardown", `--state-dir=${place("state")}`, "--force", "--timeout=5s");
    await scope?.close();
  });

  test("the token is in a file of its own, nowhere else, and opens the page", async () => {
    const token = readFileSync(tokenFile, "utf8").trim();
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    expect(shown.log()).toContain(tokenFile);
    expect(shown.log()).not.toContain(token);
    await logIn(page, /http:\/\/127\.0\.0\.1:\d+\//.exec(shown.log())?.[0] as string, token);
    await expect.poll(() => text(".whoami"), SOON).toContain("overview");
  });

  test("the bridge's steps are a list in order, with what is left to a person", async () => {
    await expect.poll(() => page.locator(".steps > li.good").count(), SOON).toBeGreaterThan(7);
    const early = page.locator(".steps > li", { hasText: "Server has an agent" });
    expect(await early.textContent()).toMatch(/waiting.*no agent yet, and none is needed/);
    const titles = await page.locator(".steps > li strong").allTextContents();
    expect(titles.indexOf("Certificates")).toBeLessThan(titles.indexOf("Server"));
    const setting = page.locator(".steps > li", { hasText: "kube-apiserver uses the bridge" });
    expect(await setting.locator(".pill").textContent()).toBe("waiting");
    expect(await setting.textContent()).toContain(
      `--egress-selector-config-file=${place("etc")}/egress-selector-config.yaml`,
    );
  });

  test("pools, what is wrong with one, a claim, and a denied request with its why", async () => {
    await expect
      .poll(() => text(".pools"), SOON)
      .toMatch(/drawbridge\/workers.*gives user data.*0 of 2 joined, 1 fetched.*5 h 2\d min/);
    await expect.poll(() => text(".pools"), SOON).toMatch(/drawbridge\/broken.*no user data.*ValidMachineConfig/);
    // A minute old when it was made; how long ago that was is this machine's business.
    await expect
      .poll(() => text("[aria-label='List of claims']"), SOON)
      .toMatch(/w-0.*drawbridge\/workers.*(?<!\d)[1-9] min/);
    await expect
      .poll(() => text("[aria-label='List of certificate requests']"), SOON)
      .toMatch(/denied.*intruder.*membership in system:masters.*rule subject-group.*csr-intruder/);
  });

  test("the page shows no part that this role does not have", async () => {
    for (const selector of [".tiles", ".tunnels", ".charts", "#peers-title", "#certificates-title"])
      expect(await page.locator(selector).count(), selector).toBe(0);
  });

  test("no token of a pool is in any answer, nor in the page", async () => {
    const { items } = await plane.admin.json<{ items: { data?: Record<string, string> }[] }>([
      ...["get", "secrets", "-n", NAMESPACE],
    ]);
    const tokens = items.flatMap(({ data }) => data?.token ?? []);
    expect(tokens.length).toBeGreaterThan(0);
    const dump = (await page.evaluate("fetch('/drawbridge/v1/dump').then((answer) => answer.text())")) as string;
    expect(dump).toContain("csr-intruder");
    const seen = dump + (await page.content());
    for (const token of tokens) {
      expect(seen).not.toContain(token);
      expect(seen).not.toContain(Buffer.from(token, "base64").toString());
    }
  });

  test("light and dark, wide and narrow: nothing serious for axe, nothing beside the screen", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(() => overflow(page), SOON).toBe(0);
        expect((await page.screenshot({ fullPage: true })).length).toBeGreaterThan(10_000);
        expect(await barriers(page)).toEqual([]);
      }
    }
    expect(complaints).toEqual([]);
  });

  test("a part that breaks is seen while somebody looks, and that all of it was taken away", async () => {
    process.kill(Number(readFileSync(join(place("state"), "server.pid"), "utf8")), "SIGKILL");
    const server = page.locator(".steps > li.bad", { hasText: "Server" });
    await expect.poll(() => server.first().textContent(), SOON).toContain("drawbridge bootstrap up");
    await drawbridge("bootstrap", "teardown", `--state-dir=${place("state")}`, "--force");
    await expect.poll(() => text("#bridge-title ~ p"), SOON).toContain("No bridge is recorded");
  });

  test("when the API is away the page says so, and keeps what it knew", async () => {
    await plane.apiServer.stop();
    await expect.poll(() => text("#nodes-title ~ .problem"), SOON).toMatch(/did not answer.*What follows is from/);
    expect(await text(".pools")).toContain("drawbridge/workers");
  });
});

describe.skipIf(!hasBrowser)("strangers", () => {
  test("markup in names, reasons and errors stays text", async () => {
    const folder = mkdtempSync(join(tmpdir(), "db-page-overview-"));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "only-for-this-test-0123456789", { mode: 0o600 });
    const evil = `<img src=x onerror="document.title='owned'">`;
    const facts: ProvidedFacts["facts"] = {
      bridge: { for: evil, address: evil, steps: [{ name: evil, title: evil, state: "failed", detail: evil }] },
      pools: [
        ...[{ name: evil, cluster: evil, version: evil, hash: evil, ready: true }].map((pool) => ({
          ...pool,
          troubles: [{ type: evil, message: evil }],
        })),
      ],
      claims: [{ pool: evil, worker: evil, at: 0 }],
      decisions: [{ request: evil, node: evil, user: evil, outcome: "denied", why: evil, rule: evil, at: 0 }],
    };
    const http = await startOverview({
      ...{ port: 0, tokenFile, version: "0.0.0" },
      providers: [
        { what: "bridge", where: evil, ask: async () => ({ facts: { bridge: facts.bridge! } }) },
        { what: "pools", where: evil, ask: async () => ({ facts }) },
        { what: "claims", where: evil, ask: () => Promise.reject(new Error(evil)) },
      ],
    });
    const browser = await startBrowser();
    try {
      const { page, complaints } = await watchedPage(browser);
      await logIn(page, `http://${http.address}/`, "only-for-this-test-0123456789");
      for (const selector of [".steps", ".pools", "[aria-label='List of claims']", ".problem", ".refusals"])
        await expect.poll(() => page.textContent(selector), SOON).toContain(evil);
      expect(await page.locator("main img").count()).toBe(0);
      expect(await page.title()).toBe("drawbridge");
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
      await http.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
