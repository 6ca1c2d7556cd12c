/** Where agents reach the servers, as the management cluster has it. */

import { find } from "../../kube/find.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Publishing } from "../config/config.js";
import type { Endpoint } from "../model/model.js";
import { names } from "../model/names.js";

interface Service extends KubeObject {
  readonly spec?: { readonly type?: string; readonly ports?: readonly { readonly nodePort?: number }[] };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly hostname?: string; readonly ip?: string }[] };
  };
}

interface Route extends KubeObject {
  readonly spec?: { readonly host?: string };
}

/** Host or port may be missing still. */
export async function publishedAddress(
  api: KubeApi,
  namespace: string,
  { type, host, port }: Publishing,
): Promise<Partial<Endpoint>> {
  if (type === "Route") {
    const path = namedPath("Route", { namespace, name: names.server });
    const route = await find<Route>(api, path);
    return endpoint(host ?? route?.spec?.host, route === undefined ? undefined : port);
  }
  const service = await find<Service>(api, namedPath("Service", { namespace, name: names.server }));
  if (service === undefined) return {};
  if (type === "NodePort") return endpoint(host, service.spec?.ports?.[0]?.nodePort);
  const [first] = service.status?.loadBalancer?.ingress ?? [];
  return endpoint(host ?? first?.hostname ?? first?.ip, port);
}

function endpoint(host: string | undefined, port: number | undefined): Partial<Endpoint> {
  return {
    ...(host === undefined || host === "" ? {} : { host }),
    ...(port === undefined || port === 0 ? {} : { port }),
  };
}
