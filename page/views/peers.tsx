import { useState } from "preact/hooks";
import type { AgentPeer, ServerPeer } from "../../src/insight/observe/admin/contract.js";
import { bytesText, count, durationText } from "../../src/insight/watch/view/format.js";
import { type ProcessView, peerId } from "../../src/insight/watch/view/process-view.js";
import { drainAgent } from "../state/api.js";

/** More rows than anybody reads would only make the page slow; search is in the list of tunnels. */
const SHOWN = 50;

export function Peers({ view, now }: { view: ProcessView; now: number }) {
  const agents = [...view.agents.values()].sort((a, b) => b.tunnels - a.tunnels || a.key - b.key);
  const servers = [...view.servers.values()];
  const all = agents.length + servers.length;
  return (
    <section class="panel" aria-labelledby="peers-title">
      <h2 id="peers-title">
        {view.facts.process.role === "server" ? "Agents" : "Servers"} <span class="quiet">{count(all)}</span>
      </h2>
      {view.facts.process.strategyCounts !== undefined && (
        <p class="quiet">
          By strategy:{" "}
          {view.facts.process.strategyCounts.map(({ name, agents: fit }) => `${name} ${count(fit)}`).join(", ")}
        </p>
      )}
      <section class="scroll" tabIndex={0} aria-label="List of peers">
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th class="program">Program</th>
              <th class="numeric">Connected</th>
              <th class="numeric">Round trip</th>
              <th class="numeric">Tunnels</th>
              <th class="numeric">Bytes</th>
              <th>
                <span class="unseen">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {agents.slice(0, SHOWN).map((agent) => (
              <PeerRow key={agent.key} peer={agent} now={now}>
                <Drain agent={agent} />
              </PeerRow>
            ))}
            {servers.slice(0, SHOWN).map((server) => (
              <PeerRow key={server.key} peer={server} now={now} />
            ))}
          </tbody>
        </table>
      </section>
      {all === 0 && <p class="quiet">None is connected.</p>}
      {all > SHOWN && <p class="quiet">The {SHOWN} with most tunnels are listed.</p>}
    </section>
  );
}

function PeerRow(props: { peer: AgentPeer | ServerPeer; now: number; children?: preact.ComponentChild }) {
  const { peer, now, children } = props;
  const moved = peer.bytesToTarget === undefined ? undefined : peer.bytesToTarget + (peer.bytesFromTarget ?? 0);
  return (
    <tr>
      <th scope="row" class="name" title={"identifiers" in peer ? peer.identifiers : peer.address}>
        {peerId(peer)}
        {peer.draining === true && <span class="pill warn">draining</span>}
        {"demotedUntil" in peer && peer.demotedUntil !== undefined && <span class="pill warn">demoted</span>}
        {peer.path?.state === "failing" && <span class="pill bad">path fails</span>}
      </th>
      <td class="program">{peer.version ?? (peer.drawbridge === true ? "drawbridge" : "")}</td>
      <td class="numeric">{peer.connectedAt === undefined ? "" : durationText(now - peer.connectedAt)}</td>
      <td class="numeric">{peer.roundTripMs === undefined ? "" : durationText(peer.roundTripMs)}</td>
      <td class="numeric">{peer.tunnels === undefined ? "" : count(peer.tunnels)}</td>
      <td class="numeric">{moved === undefined ? "" : bytesText(moved)}</td>
      <td>{children}</td>
    </tr>
  );
}

function Drain({ agent }: { agent: AgentPeer }) {
  const [problem, setProblem] = useState("");
  if (agent.draining) return null;
  const drain = () => drainAgent(agent.key).catch((error: Error) => setProblem(error.message));
  return (
    <>
      <button type="button" onClick={() => void drain()} aria-label={`Drain agent ${agent.id}`}>
        Drain
      </button>
      <span role="status" class="problem">
        {problem}
      </span>
    </>
  );
}
