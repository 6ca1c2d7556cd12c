import { createNamespace } from "./namespace.js";

let answer: Promise<string | undefined> | undefined;

/** Tries it once per process: being root is not enough inside some containers. */
export async function canUseNamespaces(): Promise<boolean> {
  return (await problem()) === undefined;
}

/** For tests: false means "skip, the reason is printed"; with DRAWBRIDGE_REQUIRE_PEERS=1 it is a failure instead. */
export async function requireNamespaces(): Promise<boolean> {
  const reason = await problem();
  if (reason === undefined) return true;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(reason);
  process.stderr.write(`skipped: ${reason}\n`);
  return false;
}

function problem(): Promise<string | undefined> {
  answer ??= probe();
  return answer;
}

async function probe(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "network namespaces need root: run the tests as root.";
  try {
    const trial = await createNamespace("probe");
    await trial.run("true");
    await trial.destroy();
    return undefined;
  } catch (error) {
    return `network namespaces cannot be made here (install iproute2 and allow CAP_SYS_ADMIN): ${(error as Error).message}`;
  }
}
