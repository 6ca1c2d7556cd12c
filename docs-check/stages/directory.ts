/** Pools without any cluster: a pool as it is written down, and a stand-in that machines can ask (demo/nodes). */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StandInApi } from "../../demo/nodes/api-server.js";
import { PAYLOAD, poolObjects } from "../../demo/nodes/pool.js";
import { equipped } from "../../test/support/lab/equipment.js";
import { freePort } from "../../test/support/processes/ports.js";
import { onThisMachine, type StageKind } from "../stage.js";

export const directory: StageKind = {
  equipped: () => equipped({}),
  async set(scope) {
    const here = scope.file("here");
    mkdirSync(join(here, "objects"), { recursive: true });
    const api = await StandInApi.start(join(here, "objects"));
    scope.defer(() => api.close());
    const [port, metricsPort] = [await freePort(), await freePort()];
    const ignition = `127.0.0.1:${port}`;
    const pool = poolObjects({ api: api.url, apiCa: api.ca, ignition, kubeconfig: api.kubeconfig() });
    writeFileSync(join(here, "pool.yaml"), pool, { mode: 0o600 });
    writeFileSync(join(here, "payload.yaml"), PAYLOAD);
    return {
      hosts: { here: onThisMachine },
      words: { PORT: String(port), "METRICS-PORT": String(metricsPort) },
      env: {},
      steps: {},
    };
  },
};
