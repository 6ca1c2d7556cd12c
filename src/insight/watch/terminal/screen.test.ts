import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { agent, NOW, refusedPeer, snapshot, totals, tunnel, tunnelChange } from "../testing/samples.js";
import { History } from "../view/history.js";
import { ProcessView } from "../view/process-view.js";
import { cell, sparkline } from "./cells.js";
import { FIRST_CHOICES } from "./choices.js";
import { pressed } from "./keys.js";
import { screen } from "./screen.js";

const draw = (
  view: ProcessView | undefined,
  choices = FIRST_CHOICES,
  size = { columns: 100, rows: 30 },
  problem = "",
) => screen({ view, history: new History(), problem }, choices, size, NOW);

function crowd(tunnels: number): ProcessView {
  const view = new ProcessView(snapshot({ agents: Array.from({ length: 9 }, (_, key) => agent(key)) }), NOW);
  view.apply(tunnelChange(...Array.from({ length: tunnels }, (_, id) => tunnel(id))));
  return view;
}

describe("the screen", () => {
  test("fits every size, also one that is too small", () => {
    for (const columns of [20, 80, 200])
      for (const rows of [1, 10, 50]) {
        const lines = draw(crowd(500), FIRST_CHOICES, { columns, rows });
        expect(lines.length).toBeLessThanOrEqual(rows);
      }
    for (const columns of [60, 100]) {
      const widths = draw(crowd(500), FIRST_CHOICES, { columns, rows: 30 }, "a long story ".repeat(9)).map(
        (line) => stripVTControlCharacters(line).length,
      );
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  });

  test("shows who was refused at TLS, with the code, the certificate and how often, and control characters of nobody", () => {
    const certificate = { subject: "CN=evil\u001b[2J", issuer: "CN=ca", serial: "1", notBeforeAt: 1, notAfterAt: 2 };
    const refusedPeers = [refusedPeer({ count: 3, certificate })];
    const view = new ProcessView(snapshot({ refusedPeers, totals: totals({ peersRefused: 1234 }) }), NOW);
    const text = draw(view).map(stripVTControlCharacters).join("\n");
    expect(text).toContain("PEERS REFUSED AT TLS OR LOGIN 1,234");
    expect(text).toContain(
      "10.0.3.7 at agents: its certificate expired (3 times)\n  DB_PEER_CERT_EXPIRED, certificate of CN=evil",
    );
    expect(text).not.toContain("\u001b");
    view.apply({ totals: totals({ peersRefused: 1235 }), refusedPeers: [] });
    expect(draw(view).join("\n")).not.toContain("PEERS REFUSED");
  });

  test("shows every cause whole at 80 columns, each wrapped below its row, and whole or not at all where rows are few", () => {
    const long = (name: string) =>
      `${name}: the certificate of the server at 127.0.0.1:8091 (subject "CN=konnectivity-server", /${"long/".repeat(30)}ca.crt) is not vouched for: ${name} ends here`;
    const view = new ProcessView(
      snapshot({
        process: { ...snapshot().process, ready: false, unreadyReason: long("why") },
        refusedPeers: [
          refusedPeer({ reason: long("first peer") }),
          refusedPeer({ id: 2, reason: long("second peer") }),
        ],
        refusals: [{ id: "R", at: NOW, target: "10.0.0.1:443", why: long("refusal") }],
      }),
      NOW,
    );
    view.apply(tunnelChange(tunnel(1)));
    const shown = (rows: number) => draw(view, FIRST_CHOICES, { columns: 80, rows }).map(stripVTControlCharacters);
    const asked = ["why", "first peer", "second peer", "refusal"];
    const squeezed = (text: string) => text.replace(/\s+/g, "");
    const text = squeezed(shown(50).join(""));
    for (const name of asked) expect(text).toContain(squeezed(long(name)));
    for (const rows of [24, 30, 36, 50]) {
      const lines = shown(rows);
      expect(lines.length).toBeLessThanOrEqual(rows);
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
      expect(lines.at(-1)).toContain("q quit");
      const all = squeezed(lines.join(""));
      for (const name of asked) expect(all.includes(squeezed(`${name}: the`))).toBe(all.includes(squeezed(long(name))));
      expect(all).toContain(squeezed(long("why")));
    }
  });

  test("shows how many agents each strategy of a server can choose from", () => {
    const { process } = snapshot();
    const strategyCounts = [
      { name: "destHost", agents: 0 },
      { name: "default", agents: 2 },
    ];
    const agents = [agent(1), agent(2)];
    const text = draw(new ProcessView(snapshot({ process: { ...process, strategyCounts }, agents }), NOW)).join("\n");
    expect(text).toContain("AGENTS 2, by strategy: destHost 0, default 2");
  });

  test("shows who it is, the busiest peers and as many tunnels as fit", () => {
    const text = draw(crowd(500)).map(stripVTControlCharacters).join("\n");
    expect(text).toMatch(/^… {2}ready {2}server server-1/);
    expect(text).toContain("AGENTS 9, 1 to 5");
    expect(text).toContain("TUNNELS 500 of 500, sorted by age");
    expect(text).toContain("10.0.0.7:443");
  });

  test("control sequences of strangers never reach the terminal", () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u202eevil\r\n";
    const view = new ProcessView(
      snapshot({
        agents: [agent(1, { id: evil })],
        refusals: [{ id: "R", at: NOW, target: evil, why: evil }],
        process: { ...snapshot().process, role: evil as "server", id: evil, ready: false, unreadyReason: evil },
      }),
      NOW,
    );
    view.apply(tunnelChange(tunnel(1, { target: evil, agent: { key: 1, id: evil } })));
    const text = draw(view, FIRST_CHOICES, { columns: 100, rows: 30 }, evil).join("\n");
    // Only our own colours and line ends are left.
    expect(stripVTControlCharacters(text).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text).not.toContain("\u001b]");
    expect(text).not.toContain("\u001b[2J");
    expect(text).toContain("evil");
  });

  test("shows the problem while there is nothing else to show", () => {
    expect(draw(undefined, FIRST_CHOICES, { columns: 40, rows: 5 }, "it hung up")[0]?.trim()).toBe("it hung up");
  });
});

describe("a role without tunnels", () => {
  const ignition = () =>
    new ProcessView(
      snapshot({
        process: { ...snapshot().process, role: "ignition", id: "ign-1" },
        totals: totals({ payloadsServed: 12, fetchesRefused: 3 }),
        refusals: [{ id: "R", at: NOW, target: "workers", why: "the token is not known", remote: "192.0.2.9" }],
      }),
      NOW,
    );

  test("shows its own figures instead of tunnels", () => {
    const text = draw(ignition()).map(stripVTControlCharacters).join("\n");
    expect(text).toMatch(/payloads +12/);
    expect(text).toMatch(/refused +3/);
    expect(text).toContain("the token is not known");
    for (const word of ["TUNNELS", "SERVERS", "AGENTS", "targets", "dial"]) expect(text).not.toContain(word);
  });
});

describe("keys", () => {
  const typing = (...keys: string[]) => keys.reduce((choices, key) => pressed(key, choices) ?? choices, FIRST_CHOICES);

  test("search is typed, corrected, taken and left", () => {
    expect(typing("/", "k", "u", "x", "\u007f", "b", "\r")).toMatchObject({ search: "kub", isTyping: false });
    expect(typing("/", "q")).toMatchObject({ search: "q", isTyping: true });
    expect(typing("/", "a", "\u001b")).toMatchObject({ search: "", isTyping: false });
    expect(typing("/", "\u001b[A")).toMatchObject({ search: "" });
  });

  test("s goes through the columns and back, r turns round, arrows scroll no further than the top", () => {
    expect(typing("s").order).toEqual({ column: "from", descending: true });
    expect(typing(..."sssssss").order.column).toBe("age");
    expect(typing("r").order.descending).toBe(true);
    expect(typing("\u001b[B", "\u001b[B", "\u001b[A", "\u001b[A", "\u001b[A").at).toBe(0);
  });

  test("q and Ctrl-C leave; Ctrl-C also while typing", () => {
    expect(pressed("q", FIRST_CHOICES)).toBeUndefined();
    expect(pressed("\u0003", { ...FIRST_CHOICES, isTyping: true })).toBeUndefined();
  });
});

test("a cell has exactly its width, and a long name keeps its end", () => {
  expect(cell("abc", 5)).toBe("abc  ");
  expect(cell("abc", 5, "right")).toBe("  abc");
  expect(cell("kube-system/webhook:8443", 8)).toBe("…ok:8443");
  expect(cell("x", 0)).toBe("");
});

test("a sparkline's highest value is the whole height", () => {
  expect(sparkline([0, 4, 8], 5)).toBe("  ▁▅█");
});
