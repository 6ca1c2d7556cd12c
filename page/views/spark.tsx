import { useMemo } from "preact/hooks";
import { sum } from "../../src/base/sum.js";
import type { DialHistory } from "../../src/insight/observe/admin/contract.js";
import { count, durationText, shareText } from "../../src/insight/watch/view/format.js";
import { sparkline } from "../../src/insight/watch/view/sparkline.js";

const WIDTH = 120;
const HEIGHT = 20;

/** The headings of what `DialCells` shows. */
export function DialHeadings() {
  return (
    <>
      <th>Ten minutes</th>
      <th class="numeric">Dials</th>
      <th class="numeric">Failed</th>
      <th class="numeric">p50</th>
      <th class="numeric">p99</th>
    </>
  );
}

/** Ten minutes of somebody's dials: as bars, and in numbers. */
export function DialCells({ history }: { history: DialHistory | undefined }) {
  const { dials = [], failures = [], p50Ms, p99Ms } = history ?? {};
  const all = sum(dials);
  const failed = sum(failures);
  return (
    <>
      <td class="spark">
        <Spark history={history} words={`${count(all)} dials, ${count(failed)} failed`} />
      </td>
      <td class="numeric" data-name="dials">
        {count(all)}
      </td>
      <td class={failed > 0 ? "numeric failed" : "numeric"} data-name="failed">
        {all === 0 ? "–" : shareText(failed, all)}
      </td>
      <td class="numeric" data-name="p50">
        {p50Ms === undefined ? "–" : durationText(p50Ms)}
      </td>
      <td class="numeric" data-name="p99">
        {p99Ms === undefined ? "–" : durationText(p99Ms)}
      </td>
    </>
  );
}

/** Drawn again only when the process was asked again. */
function Spark({ history, words }: { history: DialHistory | undefined; words: string }) {
  const paths = useMemo(() => history && sparkline(history, WIDTH, HEIGHT), [history]);
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={words}>
      <path class="ground" d={`M0 ${HEIGHT - 0.5}h${WIDTH}`} />
      <path class="dials" d={paths?.dials ?? ""} />
      <path class="failures" d={paths?.failures ?? ""} />
    </svg>
  );
}
