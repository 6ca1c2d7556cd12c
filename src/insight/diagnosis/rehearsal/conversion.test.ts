/** Conversion webhooks, called through a real server and a real agent. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../../base/finding.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { base64, DEFINITIONS, type Respond, WebhookFixture } from "./testing/webhook-fixture.js";

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await WebhookFixture.build();
});
afterAll(() => fixture.tunnel.close());
beforeEach(() => fixture.set());
afterEach(() => fixture.clear());

const NAME = "drawings.shop.test";
const versions = [
  { name: "v1alpha1", served: false, storage: false },
  { name: "v1", served: true, storage: true },
  { name: "v2", served: true, storage: false },
];
const service = { namespace: "shop", name: "hooks", path: "/convert" };

function define(webhook: object = {}, spec: object = {}): void {
  const clientConfig = { service, caBundle: base64(fixture.authority) };
  fixture.cluster.objects.set(DEFINITIONS, [
    { metadata: { name: "plain.shop.test" }, spec: { group: "shop.test", conversion: { strategy: "None" } } },
    {
      metadata: { name: NAME },
      spec: {
        ...{ group: "shop.test", scope: "Namespaced", names: { kind: "Drawing" }, versions },
        conversion: {
          strategy: "Webhook",
          webhook: { clientConfig, conversionReviewVersions: ["v1", "v1beta1"], ...webhook },
        },
        ...spec,
      },
    },
  ]);
}

interface Asked {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly object[] };
}

/** With whatever a test wants to be different in the response. */
const answer =
  (response: (asked: Asked) => object = () => ({})): Respond =>
  (review, to) => {
    const asked = review as unknown as Asked;
    const { uid, desiredAPIVersion, objects } = asked.request;
    const convertedObjects = objects.map((object) => ({ ...object, apiVersion: desiredAPIVersion }));
    const { apiVersion, kind } = asked;
    const whole = { uid, result: { status: "Success" }, convertedObjects, ...response(asked) };
    to.end(JSON.stringify({ apiVersion, kind, response: whole }));
  };

const only = async (): Promise<Finding> => {
  const results = await fixture.rehearse([], {}, [NAME]);
  expect(results.map(({ check }) => check)).toEqual([`conversion:${NAME}`]);
  return results[0]!;
};

test("an object without content is converted from the stored version to another that is served", async () => {
  await fixture.listen(answer());
  define();
  expect(await only()).toMatchObject({
    state: "ok",
    message: expect.stringMatching(/^127\.0\.0\.1:\d+ converts shop\.test\/v1 to v2 after .* of 30 s$/),
    details: { called: true, converted: true, blocks: false, from: "v1", to: "v2" },
  });
  expect(fixture.seen).toHaveLength(1);
  const [{ path, review }] = fixture.seen as [{ path: string; review: unknown }];
  expect(path).toBe("/convert?timeout=30s");
  expect(review).toMatchObject({
    ...{ kind: "ConversionReview", apiVersion: "apiextensions.k8s.io/v1" },
    request: {
      desiredAPIVersion: "shop.test/v2",
      objects: [{ apiVersion: "shop.test/v1", kind: "Drawing", metadata: { namespace: "default" } }],
    },
  });
});

test("a conversion webhook is found without a flag, and a named one is called alone", async () => {
  await fixture.listen(answer());
  define();
  const ids = (await fixture.rehearse()).map(({ check, state }) => [check, state]);
  expect(ids).toEqual([
    ["webhooks", "skipped"],
    [`conversion:${NAME}`, "ok"],
    ["apiservices", "skipped"],
  ]);
  const [unknown] = await fixture.rehearse([], {}, ["plain.shop.test"]);
  expect(unknown).toMatchObject({ check: "conversion:plain.shop.test", state: "failed" });
  expect(unknown?.remedy).toContain("--conversion");
  // Named webhooks are all that is asked for then.
  expect((await fixture.rehearse(["nobody"])).map(({ check }) => check)).toEqual(["webhook:nobody"]);
});

test("a conversion webhook that refuses the empty object is ok, and its message is shown", async () => {
  await fixture.listen(answer(() => ({ result: { status: "Failure", message: "spec is required" } })));
  define();
  expect(await only()).toMatchObject({
    state: "ok",
    message: expect.stringContaining('refuses an empty object from shop.test/v1 to v2 ("spec is required")'),
    details: { converted: false },
  });
});

describe("a conversion webhook fails and blocks for", () => {
  async function fails(evidence: RegExp, remedy: string): Promise<void> {
    const result = await only();
    expect(result).toMatchObject({ state: "failed", details: { blocks: true } });
    expect(result.message).toMatch(evidence);
    expect(result.message).toContain(`requests for ${NAME} in v2 would be refused, and namespaces that hold such`);
    expect(result.remedy).toContain(remedy);
  }

  test("another authority than the caBundle's", async () => {
    await fixture.listen(answer());
    define({ clientConfig: { service, caBundle: base64(await createAuthority({ commonName: "other" })) } });
    await fails(
      /not signed by any of its caBundle \("CN=other"\)/,
      `CustomResourceDefinition ${NAME} spec.conversion.webhook.clientConfig.caBundle`,
    );
    expect(fixture.seen).toEqual([]);
  });

  test("an endpoint where nothing listens", async () => {
    fixture.pointTo(1);
    define();
    await fails(/refused/, "targetPort");
  });

  test("no review version in common", async () => {
    define({ conversionReviewVersions: ["v3"] });
    await fails(/reads no version/, "conversionReviewVersions contain v1");
  });

  test.each<[string, Respond, RegExp]>([
    ["an error", (_, to) => void to.writeHead(500).end(), /HTTP status 500/],
    ["no document", (_, to) => void to.end("hello"), /no ConversionReview/],
    ["another request's answer", answer(() => ({ uid: "x" })), /about another request/],
    ["no result", answer(() => ({ result: {} })), /response\.result\.status/],
    ["too few objects", answer(() => ({ convertedObjects: [] })), /0 objects for one/],
    [
      "nothing converted",
      answer(({ request }) => ({ convertedObjects: request.objects })),
      /gives back shop\.test\/v1/,
    ],
    [
      "another name",
      answer(({ request }) => ({
        convertedObjects: [{ apiVersion: request.desiredAPIVersion, kind: "Drawing", metadata: { name: "x" } }],
      })),
      /changes metadata\.name/,
    ],
    [
      "another kind",
      answer(({ request }) => ({ convertedObjects: [{ apiVersion: request.desiredAPIVersion, kind: "X" }] })),
      /another kind, X/,
    ],
  ])("%s", async (_, respond, evidence) => {
    await fixture.listen(respond);
    define();
    await fails(evidence, "Read the log of the pods of service shop/hooks");
  });
});

test.each<[string, object, object, RegExp]>([
  [
    "by URL",
    { clientConfig: { url: "https://u:secret@hooks.example/x?t=secret" } },
    {},
    /hooks\.example\/x is called d/,
  ],
  ["itself", { clientConfig: { service: { namespace: "default", name: "kubernetes" } } }, {}, /calls itself/],
  ["one version", {}, { versions: versions.slice(0, 2) }, /no second version that is served/],
])("a conversion webhook is skipped: %s", async (_, webhook, spec, evidence) => {
  define(webhook, spec);
  const result = await only();
  expect(result).toMatchObject({ state: "skipped", message: expect.stringMatching(evidence) });
  expect(JSON.stringify(result)).not.toContain("secret");
});
