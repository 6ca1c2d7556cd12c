import { useEffect, useReducer } from "preact/hooks";
import { headline } from "../../src/insight/watch/view/headline.js";
import type { Live } from "../state/live.js";
import { Bridge } from "./bridge.js";
import { Certificates } from "./certificates.js";
import { Charts } from "./charts.js";
import { Failures } from "./failures.js";
import { Findings } from "./findings.js";
import { FlowDrawing } from "./flow-drawing.js";
import { Header } from "./header.js";
import { HealthBand } from "./health-band.js";
import { Listeners } from "./listeners.js";
import { LogIn } from "./log-in.js";
import { Nodes } from "./nodes.js";
import { Peers } from "./peers.js";
import { RefusedPeers } from "./refused-peers.js";
import { Targets } from "./targets.js";
import { Tiles } from "./tiles.js";
import { Tunnels } from "./tunnels.js";

/** Draws again whenever something changed: at most once a frame, and in practice a few times a second. */
export function App({ live }: { live: Live }) {
  const [, redraw] = useReducer((drawn: number) => drawn + 1, 0);
  useEffect(() => live.subscribe(() => redraw(undefined)), [live]);

  if (live.phase === "locked") return <LogIn live={live} />;
  const { view } = live;
  if (view === undefined) return <p class="lonely">Waiting for the process to answer…</p>;
  const now = live.now();
  const { facts } = view;
  const { role } = facts.process;
  const bridge = facts.sources?.find(({ what }) => what === "bridge");
  const findings = live.findings ?? [];
  const carries = role !== "overview" && role !== "ignition";
  // Then the page says first how to begin.
  const isAlone = view.agents.size + view.servers.size === 0;
  const answers = live.phase !== "waiting";
  const asksCluster = facts.sources?.some(({ what }) => what !== "bridge") === true;
  return (
    <>
      <Header live={live} facts={facts} now={now} />
      <main>
        {role !== "overview" && (
          <HealthBand headline={headline(live.findings, answers)} findings={findings} process={facts.process} />
        )}
        {bridge !== undefined && <Bridge bridge={facts.bridge} source={bridge} now={now} />}
        {asksCluster && <Nodes facts={facts} now={now} />}
        {carries && isAlone && <FlowDrawing map={live.flows} view={view} past={live.past} />}
        {role !== "overview" && <Tiles totals={facts.totals} rates={live.history.rates} past={live.past} />}
        {carries && (
          <>
            <Charts columns={live.columns} past={live.past} now={Date.now()} clockSkewMs={view.clockSkewMs} />
            {!isAlone && <FlowDrawing map={live.flows} view={view} past={live.past} />}
          </>
        )}
        {role !== "overview" && <Findings findings={findings} />}
        {carries && <Peers view={view} past={live.past} troubles={live.troubles} now={now} />}
        {role !== "overview" && (
          <div class="halves">
            {carries && <Targets past={live.past} />}
            <Failures past={live.past} view={view} />
          </div>
        )}
        {carries && <Tunnels view={view} now={now} version={live.version} />}
        {role !== "overview" && (
          <>
            <RefusedPeers peers={facts.refusedPeers ?? []} total={facts.totals.peersRefused ?? 0} />
            <div class="halves">
              <Certificates certificates={facts.certificates} now={now} />
              <Listeners listeners={facts.listeners} />
            </div>
          </>
        )}
      </main>
    </>
  );
}
