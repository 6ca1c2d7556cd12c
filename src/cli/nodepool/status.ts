/** `drawbridge nodepool status`: how pools stand. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { PoolStanding } from "../../cluster/nodes/controller/status.js";
import { addOutput, json, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAccess, declareAccess, withObjects } from "./flags.js";
import { poolsText, poolText } from "./report.js";

const purpose = `Lists pools with their version, their hash and what is wrong; with a name, all conditions and tokens of that pool (never a
token itself). Ends with 1 when the named pool cannot give user data to a machine now.`;

export function nodepoolStatus(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " [NAME]",
    declare: (set) => ({ ...declareAccess(set), output: addOutput(set) }),
    check: (flags, [, second]) => {
      checkAccess(flags);
      if (second !== undefined) throw refused(`"${second}" is one name too many: give one pool, or none for all`);
    },
    run: async (flags, [name]) => {
      const { poolStandings } = await import("../../cluster/nodes/controller/status.js");
      const namespace = flags.namespace.value;
      const all = await withObjects(flags, (api) => poolStandings(api, namespace));
      const isJson = flags.output.value === "json";
      if (name === undefined) {
        process.stdout.write(isJson ? json({ pools: all }) : poolsText(all));
        return 0;
      }
      const pool = named(all, `${namespace}/${name}`);
      process.stdout.write(isJson ? json(pool) : poolText(pool));
      return pool.ready ? 0 : 1;
    },
  });
}

function named(all: readonly PoolStanding[], wanted: string): PoolStanding {
  const found = all.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const known = all.map(({ name }) => name).join(", ") || "none";
  throw new DrawbridgeError("DB_NODEPOOL", `there is no pool ${wanted}; there is: ${known}`);
}
