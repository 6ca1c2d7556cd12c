/** The APIs that a HyperShift's control plane serves, known by the names of their Services. */

interface Preset {
  /** As version.group. */
  readonly apiServices: readonly string[];
  readonly groupPriorityMinimum: number;
}

const openshift = (...groups: readonly string[]): Preset => ({
  apiServices: groups.map((group) => `v1.${group}.openshift.io`),
  groupPriorityMinimum: 9900,
});

export const presets: Readonly<Record<string, Preset>> = {
  "openshift-apiserver": openshift(
    ...["apps", "authorization", "build", "image", "project", "quota", "route", "security", "template"],
  ),
  "openshift-oauth-apiserver": openshift("oauth", "user"),
  packageserver: { apiServices: ["v1.packages.operators.coreos.com"], groupPriorityMinimum: 2000 },
};
