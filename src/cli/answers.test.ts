/** explain, trace, top and doctor print texts of peers and carry a token: their output must be harmless. */
import { describe, expect, test, vi } from "vitest";
import { safeJson } from "../base/text.js";
import { findingsText } from "../insight/diagnosis/report.js";
import { complain } from "./framework/output.js";
import { forecastText } from "./insight/explain.js";
import { traceText } from "./insight/trace.js";
import { checkAdminUrl, chosenProcess } from "./tunnel/admin-port.js";

const EVIL = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202eevil\u2066\r\n";
const harmless = (text: string) => expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);

const explanation = {
  address: EVIL,
  host: EVIL,
  agentsConnected: 1,
  strategies: [{ name: EVIL, keys: 1, matches: 0 }],
  considered: [{ agentId: EVIL, stream: 1, identifiers: EVIL, status: EVIL, load: 0, passedOver: EVIL }],
};

test("a forecast has no control characters of a peer's texts", () => {
  const candidates = [{ key: 1, id: EVIL, status: EVIL as "ready", load: 0 }];
  const text = forecastText({ target: EVIL, possible: true, why: EVIL, strategy: EVIL, candidates });
  harmless(text);
  expect(text).toContain("evil");
  harmless(forecastText({ target: EVIL, possible: false, why: EVIL, explanation }));
});

test("a trace has no control characters of a peer's texts", () => {
  const steps = [{ name: "choose an agent", ms: 1, detail: EVIL }];
  const texts = { target: EVIL, error: EVIL, explanation, blind: EVIL };
  harmless(traceText({ ...texts, dialId: "1", ok: false, totalMs: 1, steps }));
});

test("a report of findings has no control characters of a peer's texts", () => {
  const state = "failed" as const;
  harmless(findingsText([{ check: "admin", about: "", state, message: EVIL, evidence: [EVIL], remedy: EVIL }]));
});

test("JSON has no control characters of a peer's texts and still means the same", () => {
  const json = safeJson({ explanation }, 2);
  harmless(json);
  expect(json).toContain('{\n  "explanation": {');
  expect(JSON.parse(json)).toEqual({ explanation });
});

test("an error message has no control characters of a certificate's name", () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  complain(new Error(`two lines\nof ${EVIL}`));
  const printed = String(write.mock.calls[0]?.[0]);
  write.mockRestore();
  harmless(printed);
  expect(printed).toMatch(/^Error: two lines\nof /);
});

test.each(["http://10.0.0.5:8095", "http://admin.example:8095", "http://localhost.evil.example"])(
  "%s would be sent the token in the clear",
  (url) => {
    expect(() => checkAdminUrl(url)).toThrow("https");
  },
);

test.each(["http://127.0.0.1:8095", "http://localhost:1", "http://[::1]:8095", "https://10.0.0.5:8095"])(
  "%s may be asked",
  (url) => {
    expect(() => checkAdminUrl(url)).not.toThrow();
  },
);

test.each(["ftp://127.0.0.1", "127.0.0.1:8095", "http://u:p@127.0.0.1"])("%s is no admin port", (url) => {
  expect(() => checkAdminUrl(url)).toThrow("--admin must be a URL");
});

describe("the process that top, status, explain and trace ask", () => {
  const server = { pid: 7, title: "proxy-server", url: "http://127.0.0.1:8095", tokenFile: "/run/token" };
  const agent = { pid: 8, title: "proxy-agent", url: "http://127.0.0.1:8094", tokenFile: undefined };
  const nothing = { admin: "", tokenFile: "" };

  test("the one that runs here, with its own token", () => {
    expect(chosenProcess(nothing, [server])).toEqual({ url: server.url, tokenFile: "/run/token", pid: 7 });
  });

  test("of several the one that --admin names, or whose token is given", () => {
    expect(chosenProcess({ admin: server.url, tokenFile: "" }, [agent, server]).tokenFile).toBe("/run/token");
    expect(chosenProcess({ admin: "", tokenFile: "/run/token" }, [agent, server]).url).toBe(server.url);
    expect(chosenProcess(nothing, [agent, server]).url).toBe(server.url);
    expect(() => chosenProcess(nothing, [{ ...agent, tokenFile: "/run/other" }, server])).toThrow(
      "several processes run here (proxy-agent 8 at http://127.0.0.1:8094, proxy-server 7 at http://127.0.0.1:8095).",
    );
  });

  test("the server, where the question is about one", () => {
    const both = [{ ...agent, tokenFile: "/run/other" }, server];
    expect(chosenProcess(nothing, both, "proxy-server")).toMatchObject({ pid: 7 });
    expect(chosenProcess({ admin: agent.url, tokenFile: "" }, both, "proxy-server")).toMatchObject({ pid: 8 });
    expect(chosenProcess(nothing, [both[0]!], "proxy-server")).toMatchObject({ pid: 8 });
    expect(() => chosenProcess(nothing, [agent], "proxy-server")).toThrow(
      "no proxy-server runs here, only proxy-agent 8.",
    );
  });

  test("one that takes no token is named", () => {
    expect(() => chosenProcess(nothing, [agent])).toThrow(
      /^the proxy-agent 8 was started without --admin-token-file.*; no proxy-server runs here\.$/,
    );
  });

  test("one elsewhere, whose port is forwarded, needs its token", () => {
    expect(chosenProcess({ admin: "", tokenFile: "t" }, [])).toEqual({ url: "http://127.0.0.1:8095", tokenFile: "t" });
    expect(() => chosenProcess({ admin: "http://127.0.0.1:1", tokenFile: "" }, [])).toThrow(
      "no process of drawbridge here has its admin port at 127.0.0.1:1.",
    );
    expect(() => chosenProcess(nothing, [])).toThrow("no process of drawbridge with an admin port runs here");
  });
});
