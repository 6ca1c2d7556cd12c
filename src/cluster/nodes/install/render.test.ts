import { describe, expect, test } from "vitest";
import type { KubeManifest } from "../../kube/apply.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import { machineControllerClusterRules, machineControllerRules, type PolicyRule } from "../permissions.js";
import { type InstallConfig, renderInstall } from "./render.js";

const config: InstallConfig = {
  namespace: "pools",
  image: "registry.example/drawbridge:1",
  components: ["controller", "approver", "ignition"],
  replicas: 2,
  apiPorts: [443, 6443],
  ignitionService: "NodePort",
  hostedKubeconfigSecret: "",
  approverArgs: ["--node-cidr=10.0.0.0/16"],
};

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const all = renderInstall(config);
const of = (kind: string, name = ""): KubeManifest[] =>
  all.filter((manifest) => manifest.kind === kind && manifest.metadata.name.includes(name));
const rulesOf = (manifest: KubeManifest | undefined) => manifest?.rules as readonly Rule[];

describe("what is installed", () => {
  test("has a place in the API for every object, and each object once", () => {
    const paths = all.map(objectPath);
    expect(paths.filter((path) => path.includes("undefined"))).toEqual([]);
    expect(new Set(all.map(titleOf)).size).toBe(all.length);
    expect(paths[0]).toBe("/api/v1/namespaces/pools");
  });

  test.each(["nodepool-controller", "csr-approver", "ignition-server"])("lets %s do no more than it needs", (name) => {
    const [role] = of("Role", name);
    const [clusterRole] = of("ClusterRole", name);
    for (const { resources, verbs } of [...rulesOf(role), ...(clusterRole ? rulesOf(clusterRole) : [])]) {
      expect([...resources, ...verbs]).not.toContain("*");
      expect(verbs).not.toContain("patch");
    }
    const everywhere = (clusterRole ? rulesOf(clusterRole) : []).flatMap(({ resources }) => resources);
    expect(everywhere).not.toContain("secrets");
    expect(everywhere).not.toContain("configmaps");
  });

  test("limits approval to kubelets' two signers", () => {
    const signers = rulesOf(of("ClusterRole", "csr-approver")[0]).find(({ resources }) =>
      resources.includes("signers"),
    );
    expect(signers).toMatchObject({
      verbs: ["approve"],
      resourceNames: ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"],
    });
  });

  test("runs nothing as root or with a root it could write to", () => {
    const deployments = of("Deployment");
    expect(deployments.length).toBe(3);
    for (const { spec } of deployments) {
      expect(spec).toMatchObject({
        replicas: 2,
        template: {
          spec: {
            securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
            containers: [
              {
                image: config.image,
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ["ALL"] },
                },
              },
            ],
          },
        },
      });
    }
  });

  test("closes the network of each but for the API, names and monitoring", () => {
    const policies = of("NetworkPolicy");
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(
      of("Deployment").map(({ metadata }) => metadata.name),
    );
    for (const { spec } of policies) {
      expect(spec).toMatchObject({ policyTypes: ["Ingress", "Egress"] });
      expect(JSON.stringify(spec)).toContain('"port":6443');
    }
  });

  test("lets machines come to the Ignition server, and nobody to the others", () => {
    const policies = of("NetworkPolicy").filter(({ spec }) => JSON.stringify(spec).includes('"port":9090'));
    expect(policies.map(({ metadata }) => metadata.name)).toEqual(["drawbridge-ignition-server"]);
    expect(of("Service")).toMatchObject([
      { spec: { type: "NodePort", ports: [{ port: 443, targetPort: "ignition" }] } },
    ]);
    const text = JSON.stringify(of("Deployment", "ignition-server"));
    for (const needed of ["drawbridge-ignition-serving-cert", "drawbridge-ignition-payload", '"scheme":"HTTPS"']) {
      expect(text).toContain(needed);
    }
  });

  test("has the controller issue the Ignition server's certificate, where there is one", () => {
    const text = (components: InstallConfig["components"]) =>
      JSON.stringify(renderInstall({ ...config, components }).filter(({ kind }) => kind === "Deployment"));
    expect(text(["controller", "ignition"])).toContain("--issue-certificate");
    expect(text(["controller", "approver"])).not.toContain("--issue-certificate");
  });

  test("passes the approver's own flags on, and leaves out what is not wanted", () => {
    expect(JSON.stringify(of("Deployment", "csr-approver"))).toContain("--node-cidr=10.0.0.0/16");
    const alone = renderInstall({ ...config, components: ["controller"] });
    expect(alone.some(({ metadata }) => metadata.name.includes("approver"))).toBe(false);
    const resources = (manifests: readonly KubeManifest[]) =>
      manifests.filter(({ kind }) => kind === "CustomResourceDefinition").map(({ metadata }) => metadata.name);
    expect(resources(alone)).toEqual(["nodepools.hypershift.openshift.io"]);
    const elsewhere = renderInstall({ ...config, components: ["approver"] });
    expect(resources(elsewhere)).toEqual(["workers.drawbridge.dev"]);
  });

  test("lets kubectl scale a pool, and shows HyperShift's columns in HyperShift's order", () => {
    interface Resource {
      readonly versions: readonly [
        { readonly subresources: object; readonly additionalPrinterColumns: { name: string }[] },
      ];
    }
    const { additionalPrinterColumns, subresources } = (
      of("CustomResourceDefinition", "nodepools")[0]!.spec as Resource
    ).versions[0];
    expect(subresources).toEqual({
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    });
    const own = ["Ready", "Config", "Payload", "Reached"];
    expect(additionalPrinterColumns.map(({ name }) => name).filter((name) => !own.includes(name))).toEqual([
      ...["Cluster", "Desired Nodes", "Current Nodes", "Autoscaling", "Autorepair"],
      ...["Version", "UpdatingVersion", "UpdatingConfig", "Message"],
    ]);
  });

  test("lets the controller have tokens of the one account that machines join with, and nothing else there", () => {
    const there = all.filter(({ metadata }) => metadata.namespace === "openshift-machine-config-operator");
    expect(there.map(titleOf)).toEqual([
      "ServiceAccount openshift-machine-config-operator/node-bootstrapper",
      "Role openshift-machine-config-operator/drawbridge-bootstrap-token",
      "RoleBinding openshift-machine-config-operator/drawbridge-bootstrap-token.pools",
    ]);
    expect(rulesOf(there[1])).toEqual([
      {
        apiGroups: [""],
        resources: ["serviceaccounts/token"],
        verbs: ["create"],
        resourceNames: ["node-bootstrapper"],
      },
    ]);
    expect(there[2]).toMatchObject({
      subjects: [{ kind: "ServiceAccount", name: "drawbridge-nodepool-controller", namespace: "pools" }],
    });
    expect(of("ClusterRoleBinding", "drawbridge-node-bootstrapper")).toMatchObject([
      { roleRef: { name: "system:node-bootstrapper" }, subjects: [{ name: "node-bootstrapper" }] },
    ]);
    expect(JSON.stringify(of("Deployment", "nodepool-controller"))).toContain("--issue-bootstrap-kubeconfig");
  });

  test("puts that account into the cluster that machines join, when that is another one", () => {
    const split = { ...config, hostedKubeconfigSecret: "joined" };
    const here = renderInstall({ ...split, components: ["controller"] });
    expect(here.some(({ metadata }) => metadata.name.includes("bootstrap"))).toBe(false);
    expect(here.find(({ kind }) => kind === "Deployment")?.spec).toMatchObject({
      template: {
        spec: {
          containers: [{ args: expect.arrayContaining(["--hosted-kubeconfig=/var/run/secrets/hosted/kubeconfig"]) }],
          volumes: [{ secret: { secretName: "joined" } }],
        },
      },
    });
    const there = renderInstall({ ...split, components: ["approver"] }).filter(
      ({ metadata }) => metadata.namespace === "openshift-machine-config-operator",
    );
    expect(there.map(({ kind }) => kind)).toEqual(["ServiceAccount", "Role"]);
  });

  test("has the rights of workers controller, where pools are and where machines join, bound to nobody", () => {
    const [name, everywhere] = ["drawbridge-machines", "drawbridge-machines.pools"];
    expect(of("Role", name)).toMatchObject([{ metadata: { name, namespace: "pools" }, rules: machineControllerRules }]);
    expect(of("ClusterRole", name)).toMatchObject([
      { metadata: { name: everywhere }, rules: machineControllerClusterRules },
    ]);
    expect(JSON.stringify([...of("RoleBinding"), ...of("ClusterRoleBinding")])).not.toContain(name);
    const part = (component: InstallConfig["components"][number]) =>
      renderInstall({ ...config, components: [component] })
        .filter(({ metadata }) => metadata.name.startsWith(name))
        .map(({ kind }) => kind);
    expect([part("controller"), part("approver"), part("ignition")]).toEqual([["Role"], ["Role", "ClusterRole"], []]);
  });

  test("gives nobody the same right twice", () => {
    for (const { metadata, rules } of of("Role")) {
      const rights = (rules as readonly PolicyRule[]).flatMap(({ resources, verbs }) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
      );
      expect([metadata.name, rights.length]).toEqual([metadata.name, new Set(rights).size]);
    }
  });
});
