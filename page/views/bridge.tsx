import type { BridgeInfo, BridgeStepState, SourceInfo } from "../../src/insight/observe/admin/contract.js";
import { countdown, timeOfDay } from "../../src/insight/watch/view/format.js";
import { SourceState } from "./source-state.js";

const LOOKS: Record<
  BridgeStepState["state"],
  { readonly word: string; readonly sign: string; readonly severity: string }
> = {
  done: { word: "done", sign: "✓", severity: "good" },
  running: { word: "running", sign: "…", severity: "busy" },
  waiting: { word: "waiting", sign: "◷", severity: "warn" },
  failed: { word: "failed", sign: "✕", severity: "bad" },
};

/** The bootstrap bridge of this host, step by step. */
export function Bridge({ bridge, source, now }: { bridge: BridgeInfo | undefined; source: SourceInfo; now: number }) {
  const steps = bridge?.steps ?? [];
  const done = steps.filter(({ state }) => state === "done").length;
  return (
    <section class="panel" aria-labelledby="bridge-title">
      <h2 id="bridge-title">
        Bridge{" "}
        {steps.length > 0 && (
          <span class="quiet">
            {done} of {steps.length} steps are done
          </span>
        )}
      </h2>
      <SourceState source={source} />
      {bridge !== undefined && steps.length === 0 && <p class="quiet">No bridge is recorded in {source.where}.</p>}
      {bridge?.for !== undefined && steps.length > 0 && <About bridge={bridge} now={now} />}
      <ol class="steps">
        {steps.map((step) => (
          <Step key={step.name} step={step} />
        ))}
      </ol>
      {bridge?.nodes !== undefined && bridge.nodes.length > 0 && <Places nodes={bridge.nodes} />}
    </section>
  );
}

function About({ bridge, now }: { bridge: BridgeInfo; now: number }) {
  const end = bridge.untilAt === undefined ? undefined : countdown(bridge.untilAt, now);
  return (
    <p class="quiet">
      For {bridge.for}; agents dial <span class="name">{bridge.address}</span>
      {bridge.madeAt !== undefined && `; begun at ${timeOfDay(bridge.madeAt)}`}{" "}
      {end !== undefined && (
        <span class={`pill ${{ fine: "good", soon: "warn", over: "bad" }[end.urgency]}`}>{end.text}</span>
      )}
    </p>
  );
}

function Step({ step }: { step: BridgeStepState }) {
  const { word, sign, severity } = LOOKS[step.state];
  return (
    <li class={`step ${severity}`} aria-current={step.state === "running" ? "step" : undefined}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      <span>
        <strong>{step.title}</strong> <span class={`pill ${severity}`}>{word}</span>
        <br />
        <span class="name">{step.detail}</span>
        {step.remedy !== undefined && <span class="remedy name">{step.remedy}</span>}
      </span>
    </li>
  );
}

function Places({ nodes }: { nodes: NonNullable<BridgeInfo["nodes"]> }) {
  return (
    <>
      <h3 class="part">Agents by node</h3>
      <ul class="plain places" aria-label="Agents by node">
        {nodes.map(({ name, ready, connected }) => (
          <li key={name}>
            <span class="name">{name}</span>{" "}
            <span class={`pill ${connected ? "good" : ready ? "bad" : "warn"}`}>
              {connected ? "connected" : ready ? "no agent connected" : "node is not ready"}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
