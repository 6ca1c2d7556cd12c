import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import type { ServedFetch } from "../../ignition/server/fetches.js";
import { KubeApiError } from "../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { createDirectoryApi } from "../controller/directory.js";
import type { Claim } from "../csr/inventory.js";
import { annotation, type Secret } from "../objects.js";
import { openAuditLog, Recorder, type RecorderOptions } from "./recorder.js";

const namespace = "clusters-demo";
const name = "token-workers-11111111";
const path = `/api/v1/namespaces/${namespace}/secrets/${name}`;
const right = { pool: "clusters/workers", targetConfigVersion: "11111111" };
const fetched: ServedFetch = { at: 1_000, remote: "192.0.2.7", pool: "clusters/workers", secret: name, claimed: right };

describe("the recorder", () => {
  let dir: string;
  let api: KubeApi;
  let clock: ManualClock;
  let claims: Claim[];
  let errors: string[];
  let events: (string | undefined)[][];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "drawbridge-recorder-"));
    clock = new ManualClock();
    const objects = createDirectoryApi({ directory: dir });
    events = [];
    api = {
      ...objects,
      // A directory has no events.
      create: async (at, object) => {
        if (!at.endsWith("/events")) return objects.create(at, object);
        const { message, reason } = object as KubeObject & { reason?: string; message?: string };
        events.push([reason, message]);
        return object;
      },
    };
    claims = [];
    errors = [];
    await api.create(path.slice(0, path.lastIndexOf("/")), {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace, uid: "u", annotations: { [annotation.nodePool]: "clusters/workers" } },
    });
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const recorder = async (change: Partial<RecorderOptions> = {}) => {
    const secret = await api.get<Secret>(path);
    return new Recorder({
      ...{ api, namespace, clock, makesEvents: true, audit: () => {} },
      claims: [async (added) => void claims.push(...added)],
      secret: (asked) => (asked === name ? secret : undefined),
      onError: (sentence) => errors.push(sentence),
      ...change,
    });
  };
  const reached = async () => (await api.get<Secret>(path)).metadata?.annotations?.[annotation.ignitionReached];

  test("a fetch leaves a claim, and the mark on the Secret that its headers name", async () => {
    const all = await recorder();
    all.served(fetched);
    all.served({ ...fetched, worker: "w-1" });
    await all.close();
    expect(claims).toEqual([
      { pool: "clusters/workers", at: 1_000, hash: "11111111" },
      { pool: "clusters/workers", at: 1_000, worker: "w-1", hash: "11111111" },
    ]);
    expect(await reached()).toBe("True");
    expect(events).toEqual([["GetPayload", ""]]);
  });

  test.each([
    ["none", {}],
    ["another pool's", { ...right, pool: "other/workers" }],
    ["another hash", { ...right, targetConfigVersion: "22222222" }],
  ])("headers that are %s leave a claim and no mark", async (_, claimed) => {
    const all = await recorder();
    all.served({ ...fetched, claimed });
    await all.close();
    expect([claims.length, await reached(), events]).toEqual([1, undefined, []]);
  });

  test("a Secret that belongs to no pool leaves no claim, which would make the inventory unreadable", async () => {
    const all = await recorder();
    all.served({ ...fetched, pool: "" });
    await all.close();
    expect(claims).toEqual([]);
  });

  test("a refused fetch becomes an event of a Secret that exists, once a minute", async () => {
    const all = await recorder();
    const turned = { remote: "192.0.2.7", why: "Token not found in cache", claimed: right } as const;
    for (const at of [0, 59_999]) all.refused({ ...turned, at });
    all.refused({ ...turned, at: 0, claimed: { ...right, targetConfigVersion: "99999999" } });
    await all.close();
    expect(events).toEqual([["GetPayloadFailed", "Token not found in cache"]]);
  });

  test("claims wait through an outage, and are recorded within seconds after it", async () => {
    let down = true;
    const unsure = async (added: readonly Claim[]) => {
      if (down) throw new KubeApiError("the API did not answer", { status: 0 });
      claims.push(...added);
    };
    const all = await recorder({ claims: [unsure] });
    all.served(fetched);
    await eventually(() => {
      clock.advance(30_000);
      expect(errors.length).toBeGreaterThan(9);
    });
    down = false;
    // The last attempt may have failed just now.
    await eventually(() => expect(clock.waiting.length).toBe(1));
    clock.advance(5_000);
    await eventually(() => expect(claims.length).toBe(1));
    await all.close();
    expect(errors[0]).toBe("claims wait to be recorded: the API did not answer");
  });

  test("the audit log gets a line for each fetch, and is readable by its owner only", async () => {
    const file = join(dir, "audit.jsonl");
    const audit = openAuditLog(file);
    const all = await recorder({ audit: audit.write });
    all.served({ ...fetched, worker: "w-1" });
    all.refused({ at: 2_000, remote: "192.0.2.8", why: "Bad header", claimed: { pool: "x".repeat(5_000) } });
    await all.close();
    audit.close();
    const lines = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toEqual({
      ...{ at: "1970-01-01T00:00:01.000Z", outcome: "served", remote: "192.0.2.7", pool: "clusters/workers" },
      ...{ secret: name, worker: "w-1", saidPool: "clusters/workers", saidHash: "11111111" },
    });
    expect(lines[1]).toMatchObject({ outcome: "refused", why: "Bad header", saidPool: "x".repeat(256) });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("an audit log on a full disk is reported for each fetch, and the claim is recorded all the same", async () => {
    const audit = openAuditLog("/dev/full");
    const all = await recorder({ audit: audit.write });
    all.served(fetched);
    await all.close();
    audit.close();
    expect(errors).toEqual([expect.stringMatching(/^the audit log \/dev\/full cannot be written: ENOSPC/)]);
    expect(claims).toHaveLength(1);
  });

  test("an audit log that cannot be opened is reported at the start", () => {
    expect(() => openAuditLog(join(dir, "none", "audit.jsonl"))).toThrow(
      expect.objectContaining({ code: "DB_IGNITION_AUDIT" }),
    );
  });
});
