import type { ClaimInfo, PoolInfo, SourceInfo, SourceName } from "../../src/insight/observe/admin/contract.js";
import { count, durationText, timeOfDay } from "../../src/insight/watch/view/format.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import { Decisions } from "./nodes-decisions.js";
import { SourceState } from "./source-state.js";

/** How machines become nodes: what they are given, who fetched it, and who was approved. */
export function Nodes({ facts, now }: { facts: ProcessView["facts"]; now: number }) {
  const { pools, claims, decisions, sources = [] } = facts;
  const source = (what: SourceName): SourceInfo | undefined => sources.find((one) => one.what === what);
  const isAsked = (what: SourceName, list: unknown): boolean =>
    list !== undefined || (source(what) !== undefined && source(what)?.state !== "ok");
  return (
    <section class="panel" aria-labelledby="nodes-title">
      <h2 id="nodes-title">Nodes</h2>
      {isAsked("pools", pools) && (
        <>
          <h3 class="part">
            Pools <span class="quiet">{pools !== undefined && count(pools.length)}</span>
          </h3>
          <SourceState source={source("pools")} />
          {pools !== undefined && <Pools pools={pools} now={now} />}
        </>
      )}
      <div class="halves">
        <div>
          <h3 class="part">Certificate requests</h3>
          <SourceState source={source("decisions")} />
          {decisions !== undefined && <Decisions decisions={decisions} />}
        </div>
        <div>
          <h3 class="part">Who fetched a configuration</h3>
          <SourceState source={source("claims")} />
          {claims !== undefined && <Claims claims={claims} now={now} />}
        </div>
      </div>
    </section>
  );
}

function Pools({ pools, now }: { pools: readonly PoolInfo[]; now: number }) {
  if (pools.length === 0) return <p class="quiet">There is no pool.</p>;
  return (
    <section class="scroll" tabIndex={0} aria-label="List of pools">
      <table class="pools">
        <thead>
          <tr>
            <th>Pool</th>
            <th>State</th>
            <th class="wide numeric">Replicas</th>
            <th class="wide">Workers</th>
            <th class="wide">Version</th>
            <th>Hash</th>
            <th class="wide numeric">Token rotates in</th>
          </tr>
        </thead>
        {pools.map((pool) => (
          <tbody key={pool.name}>
            <tr>
              <th scope="row" class="name">
                <Name of={pool.name} />
              </th>
              <td>
                <span class={`pill ${severity(pool)}`}>{pool.ready ? "gives user data" : "no user data"}</span>
              </td>
              <td class="wide numeric">{pool.replicas === undefined ? "" : count(pool.replicas)}</td>
              <td class="wide">{workers(pool)}</td>
              <td class="wide">{pool.version}</td>
              <td class="name">{pool.hash || "none yet"}</td>
              <td class="wide numeric">{rotation(pool, now)}</td>
            </tr>
            {pool.troubles.map(({ type, message, sinceAt }) => (
              <tr key={type}>
                <td colSpan={7} class={pool.ready ? "trouble warn" : "trouble"}>
                  {type !== "" && <strong>{type}</strong>} {message}
                  {sinceAt !== undefined && <span class="quiet"> for {durationText(now - sinceAt)}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </section>
  );
}

/** May be broken behind the namespace. */
function Name({ of }: { of: string }) {
  const cut = of.indexOf("/") + 1;
  return (
    <>
      {of.slice(0, cut)}
      <wbr />
      {of.slice(cut)}
    </>
  );
}

const severity = ({ ready, troubles }: PoolInfo): string => (!ready ? "bad" : troubles.length > 0 ? "warn" : "good");

function workers({ workers: some }: PoolInfo): string {
  if (some === undefined) return "";
  return `${count(some.joined)} of ${count(some.expected)} joined, ${count(some.fetched)} fetched`;
}

function rotation({ tokenRotatesAt }: PoolInfo, now: number): string {
  if (tokenRotatesAt === undefined) return "";
  return tokenRotatesAt <= now ? "due" : durationText(tokenRotatesAt - now);
}

function Claims({ claims, now }: { claims: readonly ClaimInfo[]; now: number }) {
  if (claims.length === 0) return <p class="quiet">Nobody, or nobody writes it down.</p>;
  return (
    <section class="scroll" tabIndex={0} aria-label="List of claims">
      <table>
        <thead>
          <tr>
            <th>Worker</th>
            <th>Pool</th>
            <th class="numeric">Ago</th>
          </tr>
        </thead>
        <tbody>
          {claims.map(({ pool, worker, at }) => (
            <tr key={`${pool} ${worker ?? ""} ${at}`}>
              <th scope="row" class="name" title={worker}>
                {worker ?? <span class="quiet">any of the pool</span>}
              </th>
              <td class="name" title={pool}>
                {pool}
              </td>
              <td class="numeric" title={timeOfDay(at)}>
                {durationText(now - at)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
