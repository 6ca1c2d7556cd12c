/** The kube-apiserver's render: override files as arguments, the configuration on stdout (JSON is YAML too). */
import { readFileSync } from "node:fs";
import { renderedConfig } from "../apiserver-config.js";

const overrides = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
process.stdout.write(`${JSON.stringify(renderedConfig(...overrides), null, 2)}\n`);
