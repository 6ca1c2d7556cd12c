import { sum } from "../../src/base/sum.js";
import type { HistoryInfo, LeftPeer, ProcessInfo } from "../../src/insight/observe/admin/contract.js";
import { agentCommand } from "../../src/insight/watch/view/first-agent.js";
import type { FlowMap, OnMap, PeerOnMap } from "../../src/insight/watch/view/flows.js";
import { bytesText, count, rateText, timeOfDay } from "../../src/insight/watch/view/format.js";
import { shortNames } from "../../src/insight/watch/view/names.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import { type Severity, worse } from "../../src/insight/watch/view/severity.js";
import { useWidth } from "./use-width.js";

const BOX = 34;
const ROW = 40;
const LETTER = 7.2;
const NARROW = 560;

/** Where the three columns stand, and how wide a box of each is. */
interface Sheet {
  readonly self: number;
  readonly selfWidth: number;
  readonly peer: number;
  readonly target: number;
  readonly width: number;
}

/** At an agent or a sidecar tunnels come in by a peer, and this process reaches the targets itself. */
function sheetOf(whole: number, isServer: boolean): Sheet {
  const selfWidth = whole < NARROW ? 10 : 96;
  const width = Math.min(320, Math.max(110, (whole - selfWidth) * 0.36));
  const gap = (whole - selfWidth - 2 * width - 1) / 2;
  const [self, peer] = isServer ? [1, selfWidth + gap] : [width + gap, 0];
  return { self, selfWidth, peer, target: whole - width - 1, width };
}

/** This process, the peers that carry its tunnels, and where they lead: health is the colour, load the width. */
export function FlowDrawing({
  map,
  view,
  past,
}: {
  map: FlowMap | undefined;
  view: ProcessView;
  past: HistoryInfo | undefined;
}) {
  const [place, whole] = useWidth();
  const { facts, agents, servers } = view;
  const { role } = facts.process;
  const isEmpty = agents.size + servers.size === 0;
  return (
    <section class="panel flow" aria-labelledby="flow-title">
      <div class="bar">
        <h2 id="flow-title">Who reaches what</h2>
        {!isEmpty && <Legend />}
      </div>
      {isEmpty && role === "server" && <FirstAgent facts={facts} left={past?.left[0]} />}
      {isEmpty && role !== "server" && <p class="quiet">No server is connected.</p>}
      <div ref={place}>
        {map !== undefined && map.peers.length > 0 && whole > 0 && (
          <Drawing map={map} info={facts.process} whole={whole} />
        )}
      </div>
    </section>
  );
}

/** Of the whole page: the dots in the lists have the same colours. */
function Legend() {
  return (
    <ul class="legend quiet" aria-label="Colours and lines">
      <li class="good">
        <span class="dot" aria-hidden="true" />
        well
      </li>
      <li class="warn">
        <span class="dot" aria-hidden="true" />
        in trouble
      </li>
      <li class="bad">
        <span class="dot" aria-hidden="true" />
        fails
      </li>
      <li class="gone">
        <span class="dot" aria-hidden="true" />
        gone, refused or not known
      </li>
      <li>
        <span class="thick" aria-hidden="true" />
        the wider, the more bytes
      </li>
      <li>
        <span class="dashed" aria-hidden="true" />
        dials fail
      </li>
    </ul>
  );
}

function FirstAgent({ facts, left }: { facts: ProcessView["facts"]; left: LeftPeer | undefined }) {
  const command = agentCommand(facts);
  return (
    <>
      <p>
        No agent is connected, so nothing can be reached.
        {left !== undefined &&
          ` The last one, ${left.id} (${left.address}), left at ${timeOfDay(left.leftAt)}: ${left.reason}.`}{" "}
        On a host in the network that is to be reached, run:
      </p>
      <pre class="command">{command}</pre>
      <p class="quiet">
        NAME is any name of its own.
        {command.includes("CA_FILE") && " CA_FILE is the authority of this server's certificate."}
        {command.includes("CERT_FILE") && " The agent's certificate has to be of an authority that this server trusts."}{" "}
        An agent that is refused is listed below with the reason.
      </p>
    </>
  );
}

function Drawing({ map, info, whole }: { map: FlowMap; info: ProcessInfo; whole: number }) {
  const isServer = info.role === "server";
  const sheet = sheetOf(whole, isServer);
  const rows = Math.max(map.peers.length, map.targets.length);
  const height = rows * ROW;
  const letters = Math.floor((sheet.width - 22) / LETTER);
  const peerName = shortNames(namesOf(map.peers), letters);
  const targetName = shortNames(namesOf(map.targets), letters);
  const nodes = (
    items: readonly (OnMap | PeerOnMap)[],
    kind: "peer" | "target",
    x: number,
    short: (name: string) => string,
  ) =>
    items.map((item, index) => (
      <Node
        key={"key" in item ? item.key : item.name}
        x={x}
        y={rowOf(index, items.length, height)}
        width={sheet.width}
        of={item}
        name={item.members === undefined ? short(item.name) : `${count(item.members)} more`}
        kind={kind}
      />
    ));
  return (
    <svg width={whole} height={height} role="img" aria-label={inWords(map, info)}>
      <Lines map={map} height={height} sheet={sheet} isServer={isServer} />
      <g class="node self">
        <rect x={sheet.self} y="4" width={sheet.selfWidth} height={height - 8} rx="5" />
        {sheet.selfWidth > 20 && (
          <text x={sheet.self + sheet.selfWidth / 2} y={height / 2 + 4} text-anchor="middle">
            {info.role}
          </text>
        )}
      </g>
      {nodes(map.peers, "peer", sheet.peer, peerName)}
      {nodes(map.targets, "target", sheet.target, targetName)}
    </svg>
  );
}

const namesOf = (all: readonly OnMap[]): string[] => all.flatMap(({ name, members }) => (members ? [] : [name]));

function Lines({ map, height, sheet, isServer }: { map: FlowMap; height: number; sheet: Sheet; isServer: boolean }) {
  const peers = new Map(
    map.peers.map((peer, index) => [peer.key, { ...peer, y: rowOf(index, map.peers.length, height) }]),
  );
  const targets = new Map(
    map.targets.map((target, index) => [target.name, { ...target, y: rowOf(index, map.targets.length, height) }]),
  );
  const most = Math.max(1, ...map.peers.map(({ rate }) => rate), ...map.targets.map(({ rate }) => rate));
  const line = (key: string, severity: Severity, { rate, tunnels }: { rate: number; tunnels: number }, d: string) => {
    const width = tunnels === 0 ? 1 : 1.5 + 8 * Math.sqrt(rate / most);
    return (
      <path
        key={key}
        class={tunnels === 0 && (severity === "good" || severity === "unknown") ? "still" : severity}
        stroke-width={width.toFixed(1)}
        d={d}
      />
    );
  };
  const { self, selfWidth, peer: peerX, target: targetX, width } = sheet;
  return (
    <g class="lines">
      {[...peers].map(([key, peer]) =>
        line(
          `${key}`,
          peer.severity,
          peer,
          isServer ? curve(self + selfWidth, peer.y, peerX, peer.y) : curve(peerX + width, peer.y, self, peer.y),
        ),
      )}
      {isServer
        ? map.flows.map((flow) => {
            const [peer, target] = [peers.get(flow.peer), targets.get(flow.target)];
            if (peer === undefined || target === undefined) return null;
            const d = curve(peerX + width, peer.y, targetX, target.y);
            // What an agent merely tried is the target's trouble.
            return line(
              `${flow.peer} ${flow.target}`,
              flow.tunnels === 0 ? target.severity : worse(peer.severity, target.severity),
              flow,
              d,
            );
          })
        : [...targets].map(([name, target]) =>
            line(name, target.severity, target, curve(self + selfWidth, target.y, targetX, target.y)),
          )}
    </g>
  );
}

function Node(props: { x: number; y: number; width: number; of: OnMap; name: string; kind: string }) {
  const { x, y, width, of, name, kind } = props;
  const { severity, members } = of;
  return (
    <g class={`node ${kind} ${severity}`}>
      {members === undefined && <title>{of.name}</title>}
      {members !== undefined && <rect x={x + 4} y={y - BOX / 2 + 4} width={width - 4} height={BOX} rx="5" />}
      <rect x={x} y={y - BOX / 2} width={width - (members === undefined ? 0 : 4)} height={BOX} rx="5" />
      <rect class="edge" x={x} y={y - BOX / 2} width="5" height={BOX} rx="2" />
      <text x={x + 13} y={y - 3}>
        {name}
      </text>
      <text x={x + 13} y={y + 12} class="note">
        {noteOf(of, kind, width)}
      </text>
    </g>
  );
}

const TROUBLES: Readonly<Record<Severity, readonly string[]>> = {
  ...{ good: [], unknown: ["dials failed"], warn: ["some dials fail"], bad: ["dials fail"] },
};

/** Why it has its colour comes first, then what it carries. */
function noteOf({ rate, tunnels, dials, severity }: OnMap, kind: string, width: number): string {
  const asked = dials === 1 ? "1 dial in 10 min" : `${count(dials)} dials in 10 min`;
  const open = tunnels === 1 ? "1 tunnel" : `${count(tunnels)} tunnels`;
  const parts = [
    ...(kind === "target" ? TROUBLES[severity] : []),
    ...(rate > 0 ? [rateText(rate)] : []),
    tunnels === 0 && dials > 0 ? asked : open,
  ];
  return parts.slice(0, width < 180 ? 1 : 2).join(", ");
}

/** Spread evenly over the height. */
const rowOf = (index: number, rows: number, height: number): number => ((index + 0.5) / rows) * height;

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1.toFixed(1)}C${middle} ${y1.toFixed(1)} ${middle} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}`;
}

function inWords(map: FlowMap, { role }: ProcessInfo): string {
  const all = (items: readonly OnMap[]): number => sum(items.map(({ members = 1 }) => members));
  const total = sum(map.peers.map(({ rate }) => rate));
  const ill = [...map.peers, ...map.targets]
    .filter(({ severity }) => severity === "bad" || severity === "warn")
    .map(({ name }) => name);
  const trouble = ill.length === 0 ? "" : ` In trouble: ${ill.join(", ")}.`;
  return `This ${role}, ${count(all(map.peers))} peers, ${count(all(map.targets))} targets; they move ${bytesText(total)} a second.${trouble}`;
}
