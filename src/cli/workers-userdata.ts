/** `drawbridge workers userdata`: what to give a machine right now. */
import { DrawbridgeError } from "../errors/error.js";
import { boolean } from "./flags/flag-value.js";
import { checkAccess, declareAccess, withObjects } from "./nodepool-flags.js";
import { runPlainCommand } from "./plain-command.js";
import { declareState, declareTailoring, nameOrRefuse, openState } from "./workers-flags.js";

const purpose = `Prints the user data of a worker with its pool's configuration and token of now, writes it into --state as well, and, with
--renew, opens the time window for its first certificate anew. It holds a token: mind where it goes.`;

const windowMs = 2 * 60 * 60_000;

export function workersUserdata(program: string, argv: readonly string[]): Promise<number> {
  return runPlainCommand(program, argv, {
    purpose,
    words: " NAME",
    declare: (set) => ({
      ...declareAccess(set),
      ...declareState(set),
      ...declareTailoring(set),
      renew: set.add(
        "renew",
        boolean,
        false,
        "Expect the worker's first certificate request from now on for two hours.",
      ),
    }),
    check: (flags, words) => {
      checkAccess(flags);
      nameOrRefuse(words, "the worker's name");
    },
    run: async (flags, [name = ""]) => {
      const [{ ensureTokens }, { poolUserData }, { workerUserData }] = await Promise.all([
        import("../nodepool/workers/own-tokens.js"),
        import("../nodepool/workers/pool-user-data.js"),
        import("../nodepool/workers/worker-user-data.js"),
      ]);
      const store = await openState(flags);
      const workers = await store.read();
      const worker = workers.find((one) => one.name === name);
      if (worker === undefined) throw new DrawbridgeError("DB_WORKERS", `there is no worker ${name}`);
      const [namespace = "", pool = ""] = worker.pool.split("/");
      const { hash, text, token } = await withObjects(flags, async (api) => {
        const owner = { namespace, name: pool };
        const token = worker.ownToken ? (await ensureTokens(api, owner, [name])).get(name) : undefined;
        return { ...(await poolUserData(api, owner)), token };
      });
      const { ignitionAddress, renew, setHostname } = flags;
      const tailored = workerUserData(text, {
        name,
        setHostname: setHostname.value,
        ignitionAddress: ignitionAddress.value,
        token,
      });
      const time = (at: number) => new Date(at).toISOString();
      const now = Date.now();
      const opened = renew.value ? { notBefore: time(now), deadline: time(now + windowMs) } : {};
      await store.write(workers.map((one) => (one.name === name ? { ...one, ...opened, hash } : one)));
      await store.writeUserData(name, tailored);
      process.stdout.write(`${tailored}\n`);
      return 0;
    },
  });
}
