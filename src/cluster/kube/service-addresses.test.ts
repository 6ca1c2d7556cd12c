import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freePort } from "../../../test/support/processes/ports.js";
import { startEcho } from "../../../test/support/targets/echo.js";
import type { OpenServices } from "../../tunnel/sidecar/routing/router.js";
import { fakeTunnel } from "../../tunnel/sidecar/routing/testing/fake-tunnel.js";
import { useRouters } from "../../tunnel/sidecar/routing/testing/test-router.js";
import { KubeApiError } from "./errors.js";
import type { KubeApi } from "./port.js";
import { openServiceAddresses } from "./service-addresses.js";

const scope = useRouters();
const NEVER = new AbortController().signal;
const ACCESS = { kubeconfig: "", qps: 0, burst: 0 };
const API_SHOP = { name: "api", namespace: "shop" };

/** A Service api in namespace shop with that spec; a number is the status of a refusal. */
function apiWith(service: object | number): { asked: string[]; closed: number; api: KubeApi } {
  const state = { asked: [] as string[], closed: 0 };
  const api = {
    async get(path: string): Promise<object> {
      state.asked.push(path);
      if (typeof service === "number") throw new KubeApiError("no", { status: service });
      return { spec: service };
    },
    close: () => void state.closed++,
  };
  return Object.assign(state, { api: api as unknown as KubeApi });
}

test("every address of a Service is found", async () => {
  const { api, asked } = apiWith({ clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "fd00::1"] });
  const services = openServiceAddresses(ACCESS, async () => api);
  expect(await services.find(API_SHOP, NEVER)).toEqual(["10.0.0.1", "fd00::1"]);
  expect(asked).toEqual(["/api/v1/namespaces/shop/services/api"]);
});

test("HTTPS_PROXY, which beside a sidecar is the sidecar itself, does not count", async () => {
  const opened: object[] = [];
  const services = openServiceAddresses(ACCESS, async (access) => {
    opened.push(access);
    return apiWith({ clusterIP: "10.0.0.1" }).api;
  });
  await services.find(API_SHOP, NEVER);
  expect(opened).toEqual([{ ...ACCESS, env: {} }]);
});

test.each([
  ["is headless", { clusterIP: "None", clusterIPs: ["None"] }],
  ["names an outside host", { externalName: "db.example" }],
  ["does not exist", 404],
])("a Service that %s has no address", async (_, spec) => {
  const { api } = apiWith(spec);
  expect(await openServiceAddresses(ACCESS, async () => api).find(API_SHOP, NEVER)).toEqual([]);
});

test("a look-up that the API server forbids fails", async () => {
  const { api } = apiWith(403);
  await expect(openServiceAddresses(ACCESS, async () => api).find(API_SHOP, NEVER)).rejects.toMatchObject({
    status: 403,
  });
});

test("the API is opened at the first look-up, again after a failure, once when it worked, and closed", async () => {
  const state = apiWith({ clusterIP: "10.0.0.1" });
  let opened = 0;
  const services = openServiceAddresses(ACCESS, async () => {
    if (++opened === 1) throw new Error("no kubeconfig");
    return state.api;
  });
  expect(opened).toBe(0);
  await expect(services.find(API_SHOP, NEVER)).rejects.toThrow("no kubeconfig");
  await services.find(API_SHOP, NEVER);
  await services.find(API_SHOP, NEVER);
  expect(opened).toBe(2);
  services.close();
  await new Promise(setImmediate);
  expect(state.closed).toBe(1);
});

test("a sidecar asks for a name again while the API refuses connections", async () => {
  const echo = scope.use(await startEcho());
  const api = createServer((_, response) => response.end(JSON.stringify({ spec: { clusterIP: "10.0.0.1" } })));
  scope.use({ close: () => void api.close() });
  const port = await freePort();
  const kubeconfig = join(scope.tempDir(), "kubeconfig");
  const clusters = [{ name: "it", cluster: { server: `http://127.0.0.1:${port}` } }];
  const contexts = [{ name: "it", context: { cluster: "it" } }];
  writeFileSync(kubeconfig, JSON.stringify({ kind: "Config", clusters, contexts, "current-context": "it" }));
  let refusals = 0;
  const openServices: OpenServices = (access) => {
    const services = openServiceAddresses({ ...access, kubeconfig });
    const find: typeof services.find = async (...asked) => {
      try {
        return await services.find(...asked);
      } catch (reason) {
        // As the policies of a network do that has only just heard of this pod.
        if (++refusals === 2) api.listen(port, "127.0.0.1");
        throw reason;
      }
    };
    return { ...services, find };
  };
  const router = scope.router(
    { resolve: ["services"] },
    { dialer: fakeTunnel({ "10.0.0.1:80": echo.port }), openServices },
  );
  expect(await router.echo("db.shop", 80)).toBe("hello");
  expect(refusals).toBe(2);
});
