/** Files requests as machines and strangers do, and sees what an approver makes of them. */
import { expect } from "vitest";
import type { KubeApi } from "../../src/cluster/kube/port.js";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { CLIENT_SIGNER, outcomeOf, SERVING_SIGNER } from "../../src/cluster/nodes/csr/signing-request.js";
import { until } from "../support/lab/wait.js";
import { decisionsIn, file, type Lab } from "./csr-lab.js";
import { CLIENT, type Row, SERVING, subjectOf } from "./csr-rows.js";

const SOON = 60_000;

export class Filer {
  readonly #lab: Lab;
  /** With the credential that all machines share. */
  readonly bootstrapper: KubeApi;
  readonly #logFile: string;

  constructor(lab: Lab, bootstrapper: KubeApi, logFile: string) {
    this.#lab = lab;
    this.bootstrapper = bootstrapper;
    this.#logFile = logFile;
  }

  /** The last one about the request; with `rule`, the last one for which that rule was the reason. */
  decision(name: string, rule?: string): Promise<DecisionEntry> {
    const isMeant = (one: DecisionEntry) => one.request === name && (rule === undefined || one.rule === rule);
    const what = `a decision about ${name}${rule === undefined ? "" : ` by rule ${rule}`}`;
    return until(what, SOON, () => decisionsIn(this.#logFile).findLast(isMeant), 30);
  }

  client(name: string, node: string): Promise<void> {
    const pem = this.#lab.request(subjectOf(node));
    return file(this.bootstrapper, { name, pem, signerName: CLIENT_SIGNER, usages: CLIENT });
  }

  serving(name: string, node: string, names: string): Promise<void> {
    const pem = this.#lab.request(subjectOf(node), names);
    return file(this.#lab.asNode(node), { name, pem, signerName: SERVING_SIGNER, usages: SERVING });
  }

  /** Returns the name of the request. */
  async row(row: Row, kind: "client" | "serving"): Promise<string> {
    const lab = this.#lab;
    const { node, as, extension, key, subject = subjectOf(node), usages } = row;
    const names = row.names ?? (kind === "serving" ? `DNS:${node},IP:${row.nodeIps?.[0] ?? "192.0.2.10"}` : "");
    const pem = lab.request(subject, names, {
      ...(key === undefined ? {} : { keyFile: lab.weakKey() }),
      ...(extension === undefined ? {} : { extension }),
    });
    const name = `csr-${kind}-${node === "kubernetes" ? "reserved" : node}`;
    const filer = as ? lab.as(as) : kind === "client" ? this.bootstrapper : lab.asNode(node);
    await file(filer, {
      name,
      pem,
      signerName: kind === "client" ? CLIENT_SIGNER : SERVING_SIGNER,
      usages: usages ?? (kind === "client" ? CLIENT : SERVING),
    });
    return name;
  }

  async expectOutcome(name: string, { denied, rule, why }: Row): Promise<void> {
    const made = await this.decision(name);
    expect(made).toMatchObject({
      by: "leader",
      rule: rule || "all",
      action: denied ? "deny" : rule === "" ? "approve" : "leave",
      ...(why === undefined ? {} : { explanation: why }),
    });
    if (rule === "") await this.#lab.issued(name);
    else if (denied) await until("the denial", SOON, async () => outcomeOf(await this.#lab.find(name)) === "denied");
    else expect((await this.#lab.find(name)).status ?? {}).toEqual({});
  }
}
