import { makePki, type TestPki } from "../../test/support/processes/certs.js";
import { Scope } from "../../test/support/processes/scope.js";
import { type Listening, startTarget } from "../load/loadgen.js";

/** What all contenders share: certificates (P-256), the target behind them and a place for sockets. */
export interface Ground {
  readonly pki: TestPki;
  readonly target: Listening;
  close(): Promise<void>;
}

export async function layGround(): Promise<Ground> {
  const scope = new Scope();
  try {
    const pki = makePki(scope.tempDir());
    const target = await startTarget(scope);
    return { pki, target, close: () => scope.close() };
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}
