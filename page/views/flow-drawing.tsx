import type { ProcessInfo } from "../../src/insight/observe/admin/contract.js";
import { type FlowMap, type PeerOnMap, SHOWN } from "../../src/insight/watch/view/flows.js";
import { bytesText, count, rateText, shorten } from "../../src/insight/watch/view/format.js";
import { useMedia } from "./use-media.js";

const ROW = 26;

/** Where the three columns stand, and how much of a name fits beside a point. */
interface Sheet {
  readonly width: number;
  readonly self: number;
  readonly peer: number;
  readonly target: number;
  readonly letters: number;
}

const WIDE: Sheet = { width: 760, self: 40, peer: 240, target: 540, letters: 26 };
const NARROW: Sheet = { width: 390, self: 10, peer: 90, target: 230, letters: 12 };
/** At an agent or a sidecar tunnels come in by a peer, and this process reaches the targets itself. */
const WIDE_BEHIND: Sheet = { ...WIDE, peer: 20, self: 300 };
const NARROW_BEHIND: Sheet = { ...NARROW, peer: 10, self: 155 };

/** This process, the peers that carry its tunnels, and where they lead; lines move as the bytes do. */
export function FlowDrawing({ map, info }: { map: FlowMap | undefined; info: ProcessInfo }) {
  const isNarrow = useMedia("(max-width: 560px)");
  const sheet = info.role === "server" ? (isNarrow ? NARROW : WIDE) : isNarrow ? NARROW_BEHIND : WIDE_BEHIND;
  const rows = Math.max(map?.peers.length ?? 0, map?.targets.length ?? 0, 4);
  const height = rows * ROW + 40;
  return (
    <section class="panel flow" aria-labelledby="flow-title">
      <h2 id="flow-title">Who reaches what</h2>
      {map === undefined || map.peers.length === 0 ? (
        <p class="quiet">{nobody(info)}</p>
      ) : (
        <>
          <svg viewBox={`0 0 ${sheet.width} ${height}`} role="img" aria-label={inWords(map, info)}>
            <Lines map={map} height={height} sheet={sheet} />
            <Node x={sheet.self} y={height / 2} name={info.role} note="" kind="self" />
            {map.peers.map((peer, index) => (
              <Node
                key={peer.key}
                x={sheet.peer}
                y={rowOf(index, map.peers.length, height)}
                name={shorten(peer.name, sheet.letters)}
                note={noteOf(peer)}
                kind={peer.state}
              />
            ))}
            {map.targets.map(({ name, tunnels, rate: perSecond }, index) => (
              <Node
                key={name}
                x={sheet.target}
                y={rowOf(index, map.targets.length, height)}
                name={shorten(name, sheet.letters)}
                note={perSecond > 0 ? rateText(perSecond) : count(tunnels)}
                kind="target"
              />
            ))}
          </svg>
          <p class="quiet">{leftOut(map)}</p>
        </>
      )}
    </section>
  );
}

function Lines({ map, height, sheet }: { map: FlowMap; height: number; sheet: Sheet }) {
  const peerRow = new Map(map.peers.map(({ key }, index) => [key, rowOf(index, map.peers.length, height)]));
  const targetRow = new Map(map.targets.map(({ name }, index) => [name, rowOf(index, map.targets.length, height)]));
  const isBehind = sheet.peer < sheet.self;
  const middle = height / 2;
  return (
    <g class="lines">
      {map.peers.map(({ key, rate: perSecond }) => {
        const row = peerRow.get(key) ?? 0;
        const d = isBehind
          ? curve(sheet.peer + 8, row, sheet.self - 8, middle)
          : curve(sheet.self + 8, middle, sheet.peer - 8, row);
        return <path key={key} class={movement(perSecond)} d={d} />;
      })}
      {isBehind
        ? map.targets.map(({ name, rate: perSecond }) => (
            <path
              key={name}
              class={movement(perSecond)}
              d={curve(sheet.self + 8, middle, sheet.target - 8, targetRow.get(name) ?? 0)}
            />
          ))
        : map.flows.map(({ peer, target, rate: perSecond }) => (
            <path
              key={`${peer} ${target}`}
              class={movement(perSecond)}
              d={curve(sheet.peer + 8, peerRow.get(peer) ?? 0, sheet.target - 8, targetRow.get(target) ?? 0)}
            />
          ))}
    </g>
  );
}

function Node(props: { x: number; y: number; name: string; note: string; kind: string }) {
  const { x, y, name, note, kind } = props;
  return (
    <g class={`node ${kind}`}>
      <circle cx={x} cy={y} r="6" />
      <text x={x + 12} y={y + 4}>
        {name}
        <tspan dx="6">{note}</tspan>
      </text>
    </g>
  );
}

/** Spread evenly over the height. */
const rowOf = (index: number, rows: number, height: number): number => ((index + 0.5) / rows) * (height - 20) + 10;

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1.toFixed(1)}C${middle} ${y1.toFixed(1)} ${middle} ${y2.toFixed(1)} ${x2} ${y2.toFixed(1)}`;
}

/** Four speeds are enough for the eye, and a class changes only when the speed does. */
function movement(perSecond: number): string {
  if (perSecond <= 0) return "still";
  if (perSecond < 10_000) return "slow";
  return perSecond < 10_000_000 ? "brisk" : "fast";
}

function noteOf({ tunnels, rate: perSecond, state }: PeerOnMap): string {
  const load = perSecond > 0 ? rateText(perSecond) : tunnels === 1 ? "1 tunnel" : `${count(tunnels)} tunnels`;
  return state === "ok" ? load : `${state}, ${load}`;
}

function leftOut({ peersLeftOut, targetsLeftOut }: FlowMap): string {
  if (peersLeftOut + targetsLeftOut === 0) return "";
  return `The busiest ${SHOWN} are drawn; ${count(peersLeftOut)} more peers and ${count(targetsLeftOut)} more targets are in the lists below.`;
}

function nobody({ role }: ProcessInfo): string {
  if (role === "server") return "No agent is connected, so nothing can be reached yet.";
  return role === "ignition"
    ? "Machines come and go; there are no lasting connections to draw."
    : "No server is connected.";
}

function inWords(map: FlowMap, { role }: ProcessInfo): string {
  const busy = map.flows.filter(({ rate: perSecond }) => perSecond > 0).length;
  const total = map.peers.reduce((sum, { rate: perSecond }) => sum + perSecond, 0);
  return `This ${role}, ${map.peers.length} peers, ${map.targets.length} targets; ${busy} flows move ${bytesText(total)} a second.`;
}
