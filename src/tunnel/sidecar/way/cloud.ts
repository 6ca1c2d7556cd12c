/** Hosts of the cloud providers' own APIs, which a control plane can reach before there is any worker. */

/**
 * Suffixes with their dot, so that neither the bare domain nor a look-alike counts. The first seven are HyperShift's; the
 * others are the same APIs in other partitions, and Google's. Sign-in pages that customers use as identity providers
 * (accounts.google.com) and a customer's own data (windows.net, appdomain.cloud) are left to the tunnel on purpose.
 */
const SUFFIXES: readonly string[] = [
  ".amazonaws.com",
  ".c2s.ic.gov",
  ".hci.ic.gov",
  ".sc2s.sgov.gov",
  ".microsoftonline.com",
  ".azure.com",
  ".cloud.ibm.com",
  ".amazonaws.com.cn",
  ".api.aws",
  ".microsoftonline.us",
  ".usgovcloudapi.net",
  ".chinacloudapi.cn",
  ".partner.microsoftonline.cn",
  ".googleapis.com",
];

export function isCloudApi(host: string, exclude: ReadonlySet<string>): boolean {
  const name = canonicalName(host);
  return !exclude.has(name) && SUFFIXES.some((suffix) => name.endsWith(suffix));
}

export function canonicalName(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
