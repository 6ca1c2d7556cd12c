/** A worker whose machine is not made yet. */
import type { Worker } from "../../workers/worker.js";
import { NO_SHAPE } from "../settings.js";

export const plainWorker: Worker = {
  ...{ name: "w-0", zone: "", pool: "c/p", provider: "none", hash: "h", ips: [], made: false, shape: NO_SHAPE },
  ...{ ownToken: false, createCommand: [], deleteCommand: [], notBefore: "", deadline: "" },
};
