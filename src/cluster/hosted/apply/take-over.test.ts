import { expect, test } from "vitest";
import type { KubeApi } from "../../kube/port.js";
import { TAKEN_OVER } from "../model/names.js";
import { giveBack } from "./take-over.js";

const api: Pick<KubeApi, "apply" | "update"> = {
  apply: () => Promise.reject(new Error("nothing may be written")),
  update: () => Promise.reject(new Error("nothing may be written")),
};

test.each(["{", "[]", "{}"])(
  "a record of what was taken over that somebody made %s is refused with a sentence",
  async (record) => {
    const metadata = { name: "kube-apiserver", namespace: "clusters-demo", annotations: { [TAKEN_OVER]: record } };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata };
    await expect(giveBack(api as KubeApi, deployment)).rejects.toMatchObject({
      code: "DB_HOSTED_CONFIG",
      message: expect.stringMatching(
        /^Somebody changed the annotation .* of Deployment clusters-demo\/kube-apiserver, in which/,
      ),
    });
  },
);
