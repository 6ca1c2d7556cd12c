import type { RefusedPeerRow } from "../../src/insight/observe/admin/contract.js";
import { overText } from "../../src/insight/observe/over.js";
import { count, timeOfDay } from "../../src/insight/watch/view/format.js";
import { refusedPeerFacts } from "../../src/insight/watch/view/refused-peer.js";

interface RefusedPeersProps {
  readonly peers: readonly RefusedPeerRow[];
  /** Those included that are no longer listed. */
  readonly total: number;
}

/** Who was refused before it could ask for anything. Everything a stranger chose is shown as text. */
export function RefusedPeers({ peers, total }: RefusedPeersProps) {
  return (
    <section class="panel" aria-labelledby="refused-peers-title">
      <h2 id="refused-peers-title">
        Peers refused at TLS or login <span class="quiet">{count(total)}</span>
      </h2>
      {peers.length === 0 && <p class="quiet">No peer was refused.</p>}
      <ul class="scroll refusals" tabIndex={0} aria-labelledby="refused-peers-title">
        {peers.map((peer) => (
          <li key={peer.id}>
            <details>
              <summary>
                <span class="quiet">{timeOfDay(peer.at)}</span> <strong>{peer.address}</strong> at {peer.listener}:{" "}
                {peer.reason} {peer.count > 1 && <span class="pill warn">{count(peer.count)} times</span>}{" "}
                {overText(peer) !== undefined && <span class="pill good">{overText(peer)}</span>}
              </summary>
              <p>{peer.remedy}</p>
              <dl class="facts">
                {refusedPeerFacts(peer).map(([name, value]) => (
                  <>
                    <dt key={name}>{name}</dt>
                    <dd>{value}</dd>
                  </>
                ))}
              </dl>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
