// Who may import whom (docs/architecture.md): a layer imports downwards only, and a part of a layer what is said here.
const SOURCE = "\\.(test|fuzz)\\.ts$|/testing/";
const rule = (name, comment, from, to) => ({
  name,
  severity: "error",
  comment,
  from: { path: from, pathNot: SOURCE },
  to,
});
const layers = ["base", "tunnel", "cluster", "insight", "cli"];
const above = (layer) => layers.slice(layers.indexOf(layer) + 1).map((each) => `^src/${each}/`);
module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    ...layers
      .slice(0, -1)
      .map((layer) => rule(`${layer}-imports-downwards`, "", `^src/${layer}/`, { path: above(layer) })),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};
