import { useState } from "preact/hooks";
import type { AgentPeer, HistoryInfo, ServerPeer } from "../../src/insight/observe/admin/contract.js";
import { bytesText, count, durationText, timeOfDay } from "../../src/insight/watch/view/format.js";
import { shortNames } from "../../src/insight/watch/view/names.js";
import { type PeerRow, peerRows, peersFound } from "../../src/insight/watch/view/peer-rows.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import type { Severity } from "../../src/insight/watch/view/severity.js";
import { drainAgent } from "../state/api.js";
import { DialCells, DialHeadings } from "./spark.js";

/** More rows than anybody reads would only make the page slow. */
const SHOWN = 50;
const LETTERS = 32;

interface PeersProps {
  readonly view: ProcessView;
  readonly past: HistoryInfo | undefined;
  readonly troubles: ReadonlyMap<string, Severity>;
  readonly now: number;
}

export function Peers({ view, past, troubles, now }: PeersProps) {
  const [search, setSearch] = useState("");
  const all = peerRows(view, past, troubles, now);
  const found = peersFound(all, search);
  const shown = found.slice(0, SHOWN);
  const short = shortNames(
    shown.map(({ name }) => name),
    LETTERS,
  );
  const { role, strategyCounts } = view.facts.process;
  return (
    <section class="panel" aria-labelledby="peers-title">
      <div class="bar">
        <h2 id="peers-title">
          {role === "server" ? "Agents" : "Servers"}{" "}
          <span class="quiet">{count(view.agents.size + view.servers.size)}</span>
        </h2>
        {strategyCounts !== undefined && (
          <span class="quiet">
            By strategy: {strategyCounts.map(({ name, agents: fit }) => `${name} ${count(fit)}`).join(", ")}
          </span>
        )}
        {all.length > SHOWN && (
          <>
            <input
              type="search"
              aria-label="Search agents"
              placeholder="name, address, identifier…"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
            <span class="quiet">
              {count(shown.length)} of {count(all.length)}
            </span>
          </>
        )}
      </div>
      {all.length === 0 && <p class="quiet">None is connected.</p>}
      {all.length > 0 && (
        <section class="scroll" tabIndex={0} aria-label="List of peers">
          <table class="dialled">
            <thead>
              <tr>
                <th>Name</th>
                <DialHeadings />
                <th class="numeric">Round trip</th>
                <th class="numeric">Tunnels</th>
                <th class="numeric">Bytes</th>
                <th class="numeric">Connected</th>
                <th class="program">Program</th>
                {role === "server" && (
                  <th>
                    <span class="unseen">Action</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.id} class={`${row.kind} ${row.severity}`}>
                  <th scope="row" class="name" title={row.name}>
                    <span class="dot" aria-hidden="true" />
                    {short(row.name)}
                    <Pills row={row} troubles={troubles} />
                  </th>
                  {row.kind === "refused" ? null : <DialCells history={row.history} />}
                  {row.kind === "here" ? (
                    <LinkCells peer={row.peer} now={now} hasAction={role === "server"} />
                  ) : (
                    <LastWords row={row} columns={role === "server" ? 6 : 5} />
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </section>
  );
}

function Pills({ row, troubles }: { row: PeerRow; troubles: ReadonlyMap<string, Severity> }) {
  if (row.kind === "gone")
    return (
      <span class={`pill ${row.severity === "good" ? "quiet" : row.severity}`}>
        gone since {timeOfDay(row.left.leftAt)}
      </span>
    );
  if (row.kind === "refused") return <span class="pill warn">refused</span>;
  const { peer } = row;
  return (
    <>
      {peer.path?.state === "failing" && <span class="pill bad">path fails</span>}
      {peer.draining === true && <span class="pill warn">draining</span>}
      {"demotedUntil" in peer && peer.demotedUntil !== undefined && <span class="pill warn">demoted</span>}
      {troubles.has(row.name) && <span class="pill warn">slow</span>}
    </>
  );
}

/** Of one that is not here: what it said last, or what was said to it. */
function LastWords({ row, columns }: { row: PeerRow; columns: number }) {
  if (row.kind === "gone")
    return (
      <td class="words" colSpan={columns}>
        {row.left.reason} <span class="quiet">{row.left.address}</span>
      </td>
    );
  if (row.kind !== "refused") return null;
  const { address, reason, count: times, at } = row.refused;
  return (
    <td class="words" colSpan={columns + 5}>
      {reason}{" "}
      <span class="quiet">
        {address}, {times === 1 ? "at" : `${count(times)} times, last at`} {timeOfDay(at)}
      </span>
    </td>
  );
}

function LinkCells({ peer, now, hasAction }: { peer: AgentPeer | ServerPeer; now: number; hasAction: boolean }) {
  const moved = peer.bytesToTarget === undefined ? undefined : peer.bytesToTarget + (peer.bytesFromTarget ?? 0);
  return (
    <>
      <td class="numeric" data-name="rtt">
        {peer.roundTripMs === undefined ? "–" : durationText(peer.roundTripMs)}
      </td>
      <td class="numeric" data-name="tunnels">
        {peer.tunnels === undefined ? "–" : count(peer.tunnels)}
      </td>
      <td class="numeric" data-name="moved">
        {moved === undefined ? "–" : bytesText(moved)}
      </td>
      <td class="numeric" data-name="connected">
        {peer.connectedAt === undefined ? "–" : durationText(now - peer.connectedAt)}
      </td>
      <td class="program">{peer.version ?? (peer.drawbridge === true ? "drawbridge" : "")}</td>
      {hasAction && <td class="action">{"remote" in peer && <Drain agent={peer} />}</td>}
    </>
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
      {problem !== "" && (
        <span role="status" class="problem">
          {problem}
        </span>
      )}
    </>
  );
}
