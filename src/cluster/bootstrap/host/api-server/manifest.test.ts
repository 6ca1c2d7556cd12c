import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { bridgeModel } from "../../model/model.js";
import { kubeadmManifest } from "../testing/kubeadm-manifest.js";
import { egressFileIn, flagValue, withEgress, withoutEgress } from "./manifest.js";

const model = bridgeModel({ for: "kubeadm", serverAddresses: ["192.0.2.10"] });
const egress = "/etc/kubernetes/drawbridge-bootstrap/egress-selector-config.yaml";

interface Pod {
  spec: {
    containers: { command?: string[]; args?: string[]; volumeMounts?: object[] }[];
    volumes?: object[];
  };
}

describe("a manifest as kubeadm writes it", () => {
  test("gets the flag and two read-only volumes, and no other line changes", () => {
    const edited = withEgress(kubeadmManifest, model);
    const [before, after] = [kubeadmManifest, edited].map((text) => text.split("\n"));
    const added = after!.filter((line) => !before!.includes(line)).map((line) => line.trim());
    expect(before!.filter((line) => !after!.includes(line))).toEqual([]);
    expect(added).toEqual([
      `- --egress-selector-config-file=${egress}`,
      `- mountPath: ${egress}`,
      "name: drawbridge-bootstrap-egress",
      "- mountPath: /run/drawbridge-bootstrap",
      "name: drawbridge-bootstrap-socket",
      `path: ${egress}`,
      "type: File",
      "name: drawbridge-bootstrap-egress",
      "path: /run/drawbridge-bootstrap",
      "name: drawbridge-bootstrap-socket",
    ]);
    const { spec } = parse(edited) as Pod;
    expect(spec.containers[0]!.command!.at(-1)).toBe(`--egress-selector-config-file=${egress}`);
    expect(spec.containers[0]!.volumeMounts).toHaveLength(4);
    expect(spec.volumes).toContainEqual({
      hostPath: { path: egress, type: "File" },
      name: "drawbridge-bootstrap-egress",
    });
  });

  test("is the same bytes after a second edit, and the original after the change is taken out", () => {
    const edited = withEgress(kubeadmManifest, model);
    expect(withEgress(edited, model)).toBe(edited);
    expect(withoutEgress(edited, model)).toBe(kubeadmManifest);
    expect(withoutEgress(kubeadmManifest, model)).toBe(kubeadmManifest);
  });

  test("keeps what somebody else changed meanwhile, comments included", () => {
    const edited = withEgress(kubeadmManifest, model)
      .replace("v1.34.1", "v1.34.2")
      .replace("  hostNetwork: true", "  # ours\n  hostNetwork: true");
    const restored = withoutEgress(edited, model);
    expect(restored).toContain("v1.34.2");
    expect(restored).toContain("# ours");
    expect(restored).not.toMatch(/drawbridge|egress/);
  });

  test("tells its flags", () => {
    expect(flagValue(kubeadmManifest, "secure-port")).toBe("6443");
    expect(flagValue(kubeadmManifest, "secure")).toBeUndefined();
    expect(egressFileIn(kubeadmManifest)).toBeUndefined();
    expect(egressFileIn(withEgress(kubeadmManifest, model))).toBe(egress);
  });

  test("with an egress configuration of its own is refused, and that one stays", () => {
    const own = kubeadmManifest.replace(
      "--secure-port",
      "--egress-selector-config-file=/etc/own.yaml\n    - --secure-port",
    );
    expect(() => withEgress(own, model)).toThrow(/egress configuration of its own, \/etc\/own\.yaml/);
    expect(withoutEgress(own, model)).toBe(own);
  });
});

describe("a manifest that kubeadm did not write", () => {
  test("with program and flags apart get the flag among the flags, written in two words or one", () => {
    const apart = kubeadmManifest.replace(
      /command:\n {4}- kube-apiserver\n/,
      "command:\n    - kube-apiserver\n    args:\n",
    );
    const { spec } = parse(withEgress(apart, model)) as Pod;
    expect(spec.containers[0]!.command).toEqual(["kube-apiserver"]);
    expect(spec.containers[0]!.args!.at(-1)).toContain(egress);
    const twoWords = apart.replace(
      "- --secure-port",
      `- --egress-selector-config-file\n    - ${egress}\n    - --secure-port`,
    );
    expect(egressFileIn(twoWords)).toBe(egress);
    expect(withoutEgress(twoWords, model)).toBe(apart);
  });

  test.each([undefined, 2])(
    "as JSON stay JSON (indented by %s), without any volume, and come back as they were",
    (indent) => {
      const bare = { kind: "Pod", spec: { containers: [{ name: "kube-apiserver", command: ["kube-apiserver"] }] } };
      const text = JSON.stringify(bare, undefined, indent);
      const edited = withEgress(text, model);
      expect((JSON.parse(edited) as Pod).spec.volumes).toHaveLength(2);
      expect(withoutEgress(edited, model)).toBe(text);
    },
  );

  test.each([
    ["a: [", /not valid YAML/],
    ["kind: Service", /it is no pod/],
    ["", /it is no pod/],
    ["kind: Pod\nspec: {containers: [{name: etcd}]}", /no container named kube-apiserver/],
    ["kind: Pod\nspec: {containers: [{name: kube-apiserver}]}", /has no command/],
  ])("%j is refused", (text, complaint) => {
    expect(() => withEgress(text, model)).toThrow(complaint);
  });
});
