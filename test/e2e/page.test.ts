/** The live page in a real Chromium: against a real server with agents and traffic, and against a crowd. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasChromium, startBrowser, watchedPage } from "../support/page/browser.js";
import { startCrowd } from "../support/page/crowd.js";
import { startRole } from "../support/page/roles.js";
import { barriers, logIn, overflow } from "../support/page/visit.js";
import { startAgent } from "../support/processes/agent.js";
import { endedCaller } from "../support/processes/certs.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";
import { startSlowRelay } from "../support/targets/slow-relay.js";

const ready = hasChromium();
const TOKEN = "only-for-this-test-0123456789";
/** For a browser on a machine that has other things to do. */
const SOON = { timeout: 30_000 };

let folder: string;
let tokenFile: string;
let browser: Browser;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "db-page-"));
  tokenFile = join(folder, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  if (ready) browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Trace {
  readonly traceEvents: readonly {
    readonly ph: string;
    readonly name: string;
    readonly pid: number;
    readonly tid: number;
    readonly tdur?: number;
    readonly args?: { readonly name?: string };
  }[];
}

/** Milliseconds of processor time of each task: what other programs on the machine take is not the page's doing. */
function mainThreadTasks({ traceEvents }: Trace): number[] {
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return traceEvents
    .filter(({ ph, name, pid, tid }) => ph === "X" && name.endsWith("RunTask") && main.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
}

/** Whatever is in a card and partly beside it, or beside the box within the card that shows it. */
const CUT = `[...document.querySelectorAll(".panel *, .tile *, .health *, header *")]
  .filter((each) => each.getBoundingClientRect().width > 1 && each.closest("svg svg, .unseen, .row") === null)
  .filter((each) => {
    const box = each.parentElement.closest(".scroll, .panel, .tile, .health, header");
    return each.getBoundingClientRect().right > box.getBoundingClientRect().right + 1;
  })
  .concat([...document.querySelectorAll(".panel, .scroll, .dialled :is(th, td), .pill")]
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline"))
  .map((each) => each.outerHTML.slice(0, 300))`;

describe.skipIf(!ready)("a server with traffic", () => {
  let tunnel: Tunnel;
  let page: Page;
  let complaints: string[];
  const sockets: Socket[] = [];
  const timers: NodeJS.Timeout[] = [];
  let targets: string[];
  const closers: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    tunnel = await startTunnel({
      server: "ours",
      agent: "ours",
      frontend: "connect-uds",
      agents: 3,
      serverFlags: [`--admin-token-file=${tokenFile}`],
    });
    const echoes = await Promise.all([startEcho(), startEcho()]);
    for (const echo of echoes) closers.push(() => echo.close());
    targets = echoes.map(({ address }) => address);
    for (let each = 0; each < 8; each++) await open(targets[each % 2] as string, each);
    ({ page, complaints } = await watchedPage(browser));
  });
  afterAll(async () => {
    for (const timer of timers) clearInterval(timer);
    for (const socket of sockets) socket.destroy();
    await tunnel?.close();
    await Promise.all(closers.map((close) => close()));
  });

  async function open(target: string, weight = 1): Promise<Socket> {
    const socket = await tunnel.open(target);
    socket.resume();
    socket.on("error", () => undefined);
    sockets.push(socket);
    timers.push(setInterval(() => socket.writable && socket.write(Buffer.alloc(400 * (weight + 1))), 100));
    return socket;
  }

  test("a wrong token is refused in words, the right one opens the page", async () => {
    await page.goto(`http://127.0.0.1:${tunnel.place.adminPort}/`);
    await page.fill("#token", "wrong");
    await page.click("button[type=submit]");
    await expect.poll(() => page.textContent("[role=alert]"), SOON).toMatch(/token/i);
    complaints.length = 0;
    await logIn(page, `http://127.0.0.1:${tunnel.place.adminPort}/`, TOKEN);
    await expect.poll(() => page.textContent(".whoami"), SOON).toMatch(/^server .+ on .+ \(pid \d+\) .+ times in \S+$/);
    expect(page.url()).not.toContain(TOKEN);
    expect(await page.evaluate("document.cookie + JSON.stringify(localStorage)")).not.toContain(TOKEN);
  });

  test("tunnels are listed, a new one appears, and one that ends goes", async () => {
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(8);
    const socket = await open(targets[0] as string);
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(9);
    socket.destroy();
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(8);
  });

  test("the pointer on a chart reads the values of that moment", async () => {
    const chart = page.locator(".charts figure").first();
    await expect.poll(() => chart.locator(".line.from").getAttribute("d"), SOON).toContain("L");
    const box = (await chart.locator(".plot").boundingBox())!;
    await page.mouse.move(box.x + box.width - 12, box.y + box.height / 2);
    await expect
      .poll(() => chart.locator("figcaption").textContent(), SOON)
      .toMatch(/^Throughput at \d\d:\d\d:\d\d\d.* [KM]?i?B\/s\d.* [KM]?i?B\/s$/);
    await page.mouse.move(0, 0);
    await expect.poll(() => chart.locator("figcaption").textContent(), SOON).toBe("Throughputfrom targetsto targets");
  });

  test("a target without an open tunnel stays on the map, with those that dialled it", async () => {
    const brief = await startEcho();
    closers.push(() => brief.close());
    (await open(brief.address)).destroy();
    const node = page.locator(".node.target.good", { hasText: brief.address });
    await expect.poll(() => node.textContent(), SOON).toContain("1 dial in 10 min");
  });

  test("the search filters, the headings sort", async () => {
    await page.fill("input[type=search]", targets[1] as string);
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(4);
    await page.fill("input[type=search]", "nothing is called this");
    await expect.poll(() => page.textContent(".tunnels .empty"), SOON).toContain("Nothing fits the search");
    await page.fill("input[type=search]", "");
    await page.click("[role=columnheader].to button");
    await expect.poll(() => page.getAttribute("[role=columnheader].to", "aria-sort"), SOON).toBe("descending");
  });

  test("the keyboard works on the page: the arrow chooses a tunnel, its life is shown, Escape leaves it", async () => {
    await page.focus("[role=grid]");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.textContent(".waterfall"), SOON).toContain("open both ways");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator(".detail").count(), SOON).toBe(0);
  });

  test("the band says that nothing is wrong, and so does the tab's title", async () => {
    await expect.poll(() => page.textContent(".health"), SOON).toBe("HealthyNothing wrong was found.");
    expect(await page.title()).toMatch(/^Healthy · .+ · drawbridge$/);
    expect(await page.locator(".findings").count()).toBe(0);
  });

  test("a dial that fails is there with its why", async () => {
    expect((await tunnel.dial("127.0.0.1:1")).ok).toBe(false);
    expect((await tunnel.dial("127.0.0.1:1")).ok).toBe(false);
    const group = page.locator(".refusals li", { hasText: "127.0.0.1:1" });
    await expect.poll(() => group.textContent(), SOON).toMatch(/2 ×.*refused/);
    expect(await group.count()).toBe(1);
    await group.locator("summary").click();
    await expect
      .poll(() => group.locator("dl").textContent(), SOON)
      .toMatch(/times2first.*last.*tried byours-agent-\d/);
  });

  test("a dead target is the target's trouble: it is red in the list and on the map, the agents that tried it are well", async () => {
    const target = page.locator("section[aria-labelledby=targets-title] tr.bad", { hasText: "127.0.0.1:1" });
    await expect.poll(() => target.textContent(), SOON).toMatch(/fails since \d\d:\d\d:\d\d2100 %/);
    await expect.poll(() => page.locator(".node.target.bad").count(), SOON).toBe(1);
    expect(await page.locator(".node.peer.good").count()).toBe(3);
    expect(await page.locator("section[aria-labelledby=peers-title] tr.good").count()).toBe(3);
  });

  test("a page that is opened later shows what was before", async () => {
    const later = await page.context().newPage();
    await later.goto(page.url());
    await expect
      .poll(() => later.textContent("section[aria-labelledby=failures-title]"), SOON)
      .toContain("127.0.0.1:1");
    const agents = later.locator("section[aria-labelledby=peers-title] tbody tr");
    await expect.poll(() => agents.first().locator(".spark .dials").getAttribute("d"), SOON).toMatch(/^M/);
    await later.close();
  });

  test("the band names what is wrong, and its link opens the finding", async () => {
    const cause = page.locator(".health a", { hasText: "127.0.0.1:1 fails" });
    await expect.poll(() => cause.count(), SOON).toBe(1);
    expect(await page.textContent(".health strong")).toBe("Degraded");
    await expect.poll(() => page.title(), SOON).toMatch(/^Degraded · /);
    const finding = page.locator(".findings details");
    expect(await finding.getAttribute("open")).toBeNull();
    await cause.click();
    expect(await finding.getAttribute("open")).not.toBeNull();
    await expect.poll(() => finding.textContent(), SOON).toMatch(/drawbridge trace .*127\.0\.0\.1:1: .*refused/);
  });

  test("a tunnel is closed from the page, after a second question", async () => {
    const lonely = await startEcho();
    closers.push(() => lonely.close());
    const socket = await open(lonely.address);
    const ended = new Promise((resolve) => socket.once("close", resolve));
    await page.fill("input[type=search]", lonely.address);
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(1);
    await page.click(".rows .row");
    await page.click("text=Close this tunnel");
    await page.click("text=Really close both ends");
    await ended;
    await expect.poll(() => page.textContent(".detail"), SOON).toMatch(/ended/);
    await page.fill("input[type=search]", "");
  });

  test("an agent is drained from the page, by a button that is all in sight", async () => {
    const button = page.locator("button[aria-label^=Drain]").first();
    await button.scrollIntoViewIfNeeded();
    const box = await button.boundingBox();
    expect(box!.x + box!.width).toBeLessThan(1280);
    await button.click();
    await expect.poll(() => page.locator("th .pill.warn", { hasText: "draining" }).count(), SOON).toBe(1);
  });

  test("light and dark, wide and narrow: nothing serious for axe, nothing beside the screen", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await expect.poll(() => overflow(page), SOON).toBe(0);
        expect(await page.evaluate(CUT)).toEqual([]);
        expect(await barriers(page)).toEqual([]);
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 900 });
    expect(complaints).toEqual([]);
  });

  test("the page survives a restart of the server without asking for the token again", async () => {
    const before = await page.textContent(".whoami .name");
    await tunnel.restartServer();
    await expect.poll(() => page.textContent(".whoami .name"), { timeout: 20_000 }).not.toBe(before);
    await expect.poll(() => page.textContent(".states"), SOON).toContain("live");
    await open(targets[0] as string);
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(1);
  });
});

describe.skipIf(!ready)("an incident, looked at afterwards", () => {
  test("a dead target, a slow agent, one that was killed and one with an expired certificate are all there", async () => {
    const scope = new Scope();
    const serverFlags = [`--admin-token-file=${tokenFile}`];
    const tunnel = await startTunnel({
      server: "ours",
      agent: "ours",
      frontend: "connect-uds",
      agents: 2,
      serverFlags,
    });
    scope.defer(() => tunnel.close());
    try {
      const relay = await startSlowRelay(tunnel.place.agentPort, 150);
      scope.defer(() => relay.close());
      const slow = await tunnel.addAgent([`--proxy-server-port=${relay.port}`]);
      const killed = tunnel.agents[0]!;
      for (const _ of [1, 2, 3]) await tunnel.dial("127.0.0.1:1");
      await killed.process.kill();
      const agent = endedCaller({ ...tunnel.pki, caller: tunnel.pki.agent });
      const serverPort = tunnel.place.agentPort;
      const refused = await startAgent({ origin: "ours", serverPort, pki: { ...tunnel.pki, agent } });
      scope.use(refused.process);
      const { page, complaints } = await watchedPage(browser);
      await logIn(page, `http://127.0.0.1:${tunnel.place.adminPort}/`, TOKEN);
      const causes = [/^Degraded/, /127\.0\.0\.1:1 fails/, new RegExp(`${slow.id} 3\\d\\d ms`), /refused.*expired/];
      for (const cause of causes) await expect.poll(() => page.textContent(".health"), SOON).toMatch(cause);
      expect(await page.locator(".command").count()).toBe(0);
      const rows = page.locator("section[aria-labelledby=peers-title] tbody tr");
      await expect.poll(() => rows.filter({ hasText: killed.id }).textContent(), SOON).toMatch(/gone since/);
      await expect.poll(() => rows.filter({ hasText: "expired" }).count(), SOON).toBe(1);
      expect(await rows.filter({ hasText: slow.id }).getAttribute("class")).toBe("here warn");
      expect(await rows.filter({ hasText: tunnel.agents[1]!.id }).getAttribute("class")).toBe("here good");
      const refusals = page.locator("section[aria-labelledby=refused-peers-title]");
      expect(await refusals.textContent()).not.toContain("was accepted since");
      await refused.process.kill();
      await tunnel.addAgent();
      await expect
        .poll(() => refusals.textContent(), SOON)
        .toMatch(/a peer with this name in its certificate was accepted since/);
      expect(complaints).toEqual([]);
      await page.context().close();
    } finally {
      await scope.close();
    }
  });
});

describe.skipIf(!ready)("strangers", () => {
  test("markup in names, targets and errors stays text", async () => {
    const evil = `<img src=x onerror="document.title='owned'">`;
    const http = await startCrowd(tokenFile, { agents: 2, tunnels: 3, agentName: evil, target: evil, lastError: evil });
    const { page, complaints } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    await expect.poll(() => page.locator(".rows .row").count(), SOON).toBe(3);
    await page.click(".rows .row >> nth=0");
    await expect.poll(() => page.textContent(".detail"), SOON).toContain(evil);
    expect(await page.locator("main img").count()).toBe(0);
    expect(await page.title()).toMatch(/ · crowd on .+ · drawbridge$/);
    expect(complaints).toEqual([]);
    await page.context().close();
    await http.close();
  });
});

describe.skipIf(!ready)("at a glance", () => {
  const scenes = [
    ["no agent", { agents: 0, tunnels: 0 }],
    ["three agents and faults", { id: "server-1", agents: 3, tunnels: 8, agentName: "node-{n}", faults: true }],
    [
      "long names",
      {
        ...{ id: "server-of-the-control-plane-of-production.europe.example.com", agents: 4, tunnels: 8, faults: true },
        agentName: "ip-10-128-17-{n}.eu-central-1.compute.internal-of-the-pool-of-large-machines",
        target: "{n}.payments-of-the-whole-company.production.svc.cluster.local:8443",
      },
    ],
    ["200 agents and faults", { agents: 200, tunnels: 600, agentName: "gke-{n}.eu-1.compute.internal", faults: true }],
  ] as const;

  test.each(scenes)(
    "%s: light and dark, wide and narrow, all is in sight and nothing serious for axe",
    async (name, crowd) => {
      const http = await startCrowd(tokenFile, crowd);
      const { page, complaints } = await watchedPage(browser);
      await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
      await page.waitForSelector(".health:not(.unknown)");
      if (crowd.agents > 0) await page.waitForSelector(".node.target.bad");
      await expect.poll(() => page.textContent(".tile .value"), SOON).not.toBe("–");
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 900 });
          await expect.poll(() => overflow(page), SOON).toBe(0);
          // Charts take their new width with the next drawing.
          await expect.poll(() => page.evaluate(CUT), SOON).toEqual([]);
          expect(await barriers(page)).toEqual([]);
        }
      }
      expect(complaints, name).toEqual([]);
      await page.context().close();
      await http.close();
    },
  );

  test("every fault is named at the top, and whoever is gone or was refused stays in the list with the last words", async () => {
    const http = await startCrowd(tokenFile, scenes[1][1]);
    const { page } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    const band = () => page.textContent(".health");
    for (const cause of [
      /^Degraded/,
      /10\.129\.9\.9:8443 and billing\.svc:443 fail/,
      /node-1 342 ms/,
      /node-3 gone/,
      /expired.*10\.0\.3\.7/,
    ])
      await expect.poll(band, SOON).toMatch(cause);
    const agents = page.locator("section[aria-labelledby=peers-title] tbody");
    await expect.poll(() => agents.textContent(), SOON).toMatch(/node-3.*reset by the agent's host/);
    expect(await agents.textContent()).toMatch(/10\.0\.3\.7.*its certificate expired/);
    // Health decides on the colour: the slow agent, not those that tried the dead target.
    expect(await agents.locator("tr.here.warn th").allTextContents()).toEqual(["node-1slow"]);
    expect(await agents.locator("tr.here.good").count()).toBe(2);
    await expect.poll(() => page.locator(".node.peer.warn title").allTextContents(), SOON).toEqual(["node-1"]);
    await page.context().close();
    await http.close();
  });

  test("200 agents: names keep what differs, and those that are not drawn are one", async () => {
    const http = await startCrowd(tokenFile, scenes[3][1]);
    const { page } = await watchedPage(browser, { viewport: { width: 390, height: 900 } });
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    await expect.poll(() => page.locator(".node.peer").count(), SOON).toBe(10);
    const names = await page.locator(".node.peer text:not(.note)").allTextContents();
    expect(new Set(names).size).toBe(10);
    expect(names.some((name) => /^gke-1(\.eu(-1)?)?…$/.test(name))).toBe(true);
    expect(names.at(-1)).toBe("191 more");
    await page.context().close();
    await http.close();
  });

  test("without an agent the page says how to start one", async () => {
    const http = await startCrowd(tokenFile, scenes[0][1]);
    const { page } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    await expect.poll(() => page.textContent(".command"), SOON).toMatch(/^proxy-agent \\\n {2}--proxy-server-host=/);
    await expect.poll(() => page.title(), SOON).toMatch(/^Down · crowd on .+ \(pid \d+\) · drawbridge$/);
    await page.context().close();
    await http.close();
  });
});

describe.skipIf(!ready)("a crowd", () => {
  test("500 agents and 10,000 tunnels: no task keeps the main thread for 100 ms in ten seconds of a trace", async () => {
    const http = await startCrowd(tokenFile, { agents: 500, tunnels: 10_000 });
    const { page, complaints } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    await expect.poll(() => page.textContent(".tunnels [role=status]"), { timeout: 30_000 }).toBe("10,000 of 10,000");
    expect(await page.locator(".rows .row").count()).toBeLessThan(40);
    await browser.startTracing(page, { categories: ["toplevel", "__metadata"] });
    await page.evaluate(`new Promise((resolve) => {
      const rows = document.querySelector(".rows");
      const scroll = setInterval(() => rows.scrollTop += 900, 100);
      setTimeout(() => { clearInterval(scroll); resolve(); }, 10_000);
    })`);
    const tasks = mainThreadTasks(JSON.parse((await browser.stopTracing()).toString("utf8")) as Trace);
    expect(tasks.length).toBeGreaterThan(100);
    expect(Math.max(...tasks)).toBeLessThan(100);
    expect(complaints).toEqual([]);
    await page.context().close();
    await http.close();
  });
});

describe.skipIf(!ready)("another role", () => {
  test.each([
    ["agent", ["Who reaches what", "Tunnels", "Servers 2"], ["Agents"]],
    ["sidecar", ["Who reaches what", "Came in by", "socks5"], ["Agents", "Carried by"]],
    ["ignition", ["payloads served", "Requests refused, and why 2"], ["Tunnels", "Servers", "dial", "from targets"]],
  ] as const)("%s: the page shows what it has, and not what it has not", async (role, there, notThere) => {
    const http = await startRole(tokenFile, role, true);
    const { page, complaints } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${http.port}/`, TOKEN);
    const text = () => page.textContent("main");
    for (const words of there) await expect.poll(text, SOON).toContain(words);
    for (const words of notThere) expect(await text()).not.toContain(words);
    if (role === "sidecar") await expect.poll(() => page.locator(".node.target").count(), SOON).toBe(4);
    expect(await barriers(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 900 });
    await expect.poll(() => overflow(page), SOON).toBe(0);
    expect(complaints).toEqual([]);
    await page.context().close();
    await http.close();
  });

  test("a process that comes back with another token asks for it", async () => {
    const first = await startRole(tokenFile, "agent", true);
    const { page } = await watchedPage(browser);
    await logIn(page, `http://127.0.0.1:${first.port}/`, TOKEN);
    await first.close();
    const otherFile = join(folder, "other-token");
    writeFileSync(otherFile, "another-token-0123456789", { mode: 0o600 });
    const second = await startRole(otherFile, "agent", true, first.port);
    await page.waitForSelector("#token", { timeout: 30_000 });
    await page.fill("#token", "another-token-0123456789");
    await page.click("button[type=submit]");
    await page.waitForSelector(".tiles");
    await page.context().close();
    await second.close();
  });
});
