/** Alive means that the process answers; ready, that server and agent have each other. */
export function probes(port: number) {
  // A host under bootstrap is busy: one slow answer must not restart the tunnel.
  const every = { periodSeconds: 10, timeoutSeconds: 5 };
  return {
    livenessProbe: { httpGet: { path: "/healthz", port }, initialDelaySeconds: 10, ...every },
    readinessProbe: { httpGet: { path: "/readyz", port }, periodSeconds: 5, timeoutSeconds: 5 },
  };
}
