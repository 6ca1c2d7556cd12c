// Who may import whom (docs/architecture.md): a layer imports only what stands below it.
const layers = ["base", "tunnel", "cluster", "insight", "cli"];
const tests = "\\.(test|fuzz)\\.ts$|/testing/";
const rule = (name, comment, from, to) => ({
  name,
  severity: "error",
  comment,
  from: { path: from, pathNot: tests },
  to,
});
const above = (layer) => layers.slice(layers.indexOf(layer) + 1).map((each) => `^src/${each}/`);

module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    ...layers.slice(0, -1).map((layer) =>
      rule(`${layer}-imports-downwards`, `${layer}/ imports only layers below it`, `^src/${layer}/`, {
        path: above(layer),
      }),
    ),
    {
      ...rule("tunnel-is-tested-alone", "tests of base/ and tunnel/ import no layer above", "^src/(base|tunnel)/", {
        path: above("tunnel"),
      }),
      from: { path: "^src/(base|tunnel)/.*(\\.(test|fuzz)\\.ts$|/testing/)" },
    },
    rule("protocol-is-pure", "the protocol's code opens no sockets and no files", "^src/tunnel/(wire|connection)/", {
      path: "^(node:)?(net|tls|http|https|http2|fs|fs/promises|child_process)$",
    }),
    rule("http2-only-in-link", "tunnel/link/ alone knows HTTP/2", "^src/(?!tunnel/link/)", {
      path: "^src/tunnel/link/h2/|^(node:)?http2$",
    }),
    rule("x509-only-in-pki", "tunnel/pki/ alone knows the X.509 library", "^src/(?!tunnel/pki/)", {
      path: "@peculiar/x509|reflect-metadata",
    }),
    rule(
      "kube-is-lazy",
      "processes load the Kubernetes client and the issuing code only when a flag asks for them",
      "^src/(tunnel/(server|agent|client|sidecar)|cluster/(membership|bootstrap|hosted|ignition|nodes)|cli/(flags|framework|tunnel))/",
      {
        path: "^src/cluster/kube/(client|open|kubeconfig/|connection|proxy)|^src/tunnel/pki/(issue|write-pki|renew)",
        dependencyTypesNot: ["type-only", "dynamic-import"],
        dynamic: false,
      },
    ),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
