/** The proxies beside components that reach the data plane, as changes in the components' own Deployments. */

import { type FileVolume, kubeManifest, mountsOf, volumesOf } from "../../kube/builders.js";
import { CLOUD_BYPASS, type ComponentProxy, type ProxiedComponent, proxiedComponents } from "../model/components.js";
import { type HostedModel, isIpv4Only, noProxy } from "../model/model.js";
import { mounts, names } from "../model/names.js";
import { fromSecret, proxyVariables } from "./agents.js";
import { container } from "./manifest.js";
import { execPause, guestSecurity } from "./server.js";

const volumes: readonly FileVolume[] = [
  { name: "konnectivity-proxy-cert", secret: names.client, path: mounts.proxyClient },
  { name: "konnectivity-proxy-ca", configMap: names.caBundle, path: mounts.proxyCa },
];
const TRUST_BUNDLE = "proxy-additional-trust-bundle";

/** API servers answer for 15 s more; together within the 30 s that pods have unless their owner gave them more. */
const PAUSE_SECONDS = 20;
const DRAIN_SECONDS = 8;

/** Strategic merge patches, by the name of the Deployment. */
export function sidecarPatches(model: HostedModel): [component: string, document: object][] {
  return proxiedComponents(model).map((component) => [component.name, patchOf(component, model)]);
}

function patchOf(component: ProxiedComponent, model: HostedModel) {
  const { name, environment, sidecars } = component;
  const env = Object.entries(environment).map(([variable, value]) => ({
    name: variable,
    value: typeof value === "string" ? value : value.join(","),
  }));
  const files = [...volumes, ...sidecars.flatMap((sidecar) => proxyFiles(sidecar, model))];
  const spec = {
    containers: [
      ...(env.length === 0 ? [] : [{ name, env }]),
      ...sidecars.map((sidecar) => sidecarContainer(sidecar, component, model)),
    ],
    volumes: [...volumesOf(files), { name: "tmp-dir", emptyDir: {} }, ...trustVolumes(model)],
  };
  return kubeManifest("Deployment", { name, namespace: model.namespace }, { spec: { template: { spec } } });
}

/** ovnkube's is the network operator's to name. */
const nameOf = ({ name }: ProxiedComponent, { mode }: ComponentProxy): string =>
  name === "ovnkube-control-plane" ? "socks-proxy" : `konnectivity-proxy-${mode}`;

function sidecarContainer(sidecar: ComponentProxy, component: ProxiedComponent, model: HostedModel) {
  const trust = trusted(model).map(([, subPath]) => ({
    ...{ name: TRUST_BUNDLE, mountPath: `${mounts.trustedCerts}/${subPath}`, subPath, readOnly: true },
  }));
  // HyperShift's own image is run as HyperShift runs it.
  const lasts = component.endsSlowly && model.images.kind !== "payload";
  return container(nameOf(component, sidecar), model.images.sidecar[sidecar.mode], {
    args: [...argumentsOf(sidecar, model), ...(lasts ? [`--drain-timeout=${DRAIN_SECONDS}s`] : [])],
    env: [
      { name: "KUBECONFIG", value: `${mounts.kubeconfig}/kubeconfig` },
      ...chainOf(sidecar, model).env,
      ...(sidecar.flags?.includes(CLOUD_BYPASS) ? managementVariables(model) : []),
    ],
    ...(lasts && execPause(PAUSE_SECONDS)),
    securityContext: guestSecurity(model),
    volumeMounts: [
      { name: component.kubeconfigVolume, mountPath: mounts.kubeconfig, readOnly: true },
      ...mountsOf([...volumes, ...proxyFiles(sidecar, model)]),
      { name: "tmp-dir", mountPath: "/tmp" },
      ...(sidecar.mode === "https" ? trust : []),
    ],
  });
}

function argumentsOf(sidecar: ComponentProxy, model: HostedModel): string[] {
  const { flags = [], port } = sidecar;
  return [
    ...["run", ...chainOf(sidecar, model).args],
    ...(port === undefined ? [] : [`--serving-port=${port}`]),
    ...flags,
    ...(isIpv4Only(model) ? ["--prefer-ipv4=true"] : []),
  ];
}

/**
 * How an HTTP proxy forwards to the customer's proxy. URLs of a Secret are read from a file; HyperShift's program takes
 * them on its command line only, into which the kubelet expands them.
 */
function chainOf({ mode }: ComponentProxy, model: HostedModel): { readonly args: string[]; readonly env: object[] } {
  const { proxy, images } = model;
  if (mode !== "https" || proxy === undefined) return { args: [], env: [] };
  const { http, https, secret } = proxy;
  const args = (httpUrl: string, httpsUrl: string) => [
    ...["--http-proxy", httpUrl, "--https-proxy", httpsUrl, "--no-proxy", noProxy(model)],
  ];
  if (secret === undefined) return { args: args(http, https), env: [] };
  if (images.kind !== "payload") {
    return { args: args(`file:${mounts.customerProxy}/httpProxy`, `file:${mounts.customerProxy}/httpsProxy`), env: [] };
  }
  return {
    args: args("$(CUSTOMER_HTTP_PROXY)", "$(CUSTOMER_HTTPS_PROXY)"),
    env: [
      { name: "CUSTOMER_HTTP_PROXY", ...fromSecret(secret, "httpProxy") },
      { name: "CUSTOMER_HTTPS_PROXY", ...fromSecret(secret, "httpsProxy") },
    ],
  };
}

function proxyFiles({ mode }: ComponentProxy, { proxy, images }: HostedModel): FileVolume[] {
  if (mode !== "https" || proxy?.secret === undefined || images.kind === "payload") return [];
  return [{ name: "konnectivity-customer-proxy", secret: proxy.secret, path: mounts.customerProxy }];
}

/** Cloud APIs are reached past the tunnel, and so as anything else of the management cluster reaches them. */
function managementVariables({ managementProxy }: HostedModel) {
  if (managementProxy === undefined) return [];
  const past = new Set([...managementProxy.noProxy, names.apiServer]);
  return proxyVariables(managementProxy, [...past].toSorted().join(","));
}

/** ConfigMaps with authorities of the customer's own, and their files: of all that is outside, and of the customer's proxy. */
function trusted({ additionalTrustBundle, proxy }: HostedModel): [configMap: string, file: string][] {
  return [
    ...(additionalTrustBundle === undefined
      ? []
      : [[additionalTrustBundle, "additional-ca-bundle.pem"] satisfies [string, string]]),
    ...(proxy?.trustedCa === undefined ? [] : [[proxy.trustedCa, "proxy-trusted-ca.pem"] satisfies [string, string]]),
  ];
}

function trustVolumes(model: HostedModel) {
  const sources = trusted(model).map(([name, path]) => ({
    configMap: { name, items: [{ key: "ca-bundle.crt", path }] },
  }));
  return sources.length === 0 ? [] : [{ name: TRUST_BUNDLE, projected: { sources } }];
}
